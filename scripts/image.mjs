// What the image is made of, for the scripts that check it. The Node version is the newest LTS line.
export const nodeVersion = '26.10.0';
