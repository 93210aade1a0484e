/** The bundler takes care of styles. */
declare module '*.css';
