declare module "*.html" {
  const text: string;
  export default text;
}

declare module "*.csv" {
  const text: string;
  export default text;
}
