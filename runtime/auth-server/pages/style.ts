/**
 * The one style of all pages. Colours are custom properties, whose contrast a test computes in both schemes (WCAG 2.2,
 * 1.4.3 and 1.4.11).
 */
export const STYLE = `
:root{color-scheme:light dark;--page:#ffffff;--text:#1b1b1f;--quiet:#55555e;--line:#85858f;--accent:#0b57d0;--on-accent:#ffffff;--warning:#fff4d6;--on-warning:#4a3200}
@media (prefers-color-scheme:dark){:root{--page:#1b1b1f;--text:#f1f1f4;--quiet:#b5b5be;--line:#8d8d98;--accent:#a8c7fa;--on-accent:#0a1f44;--warning:#3d2e00;--on-warning:#ffe6a6}}
*{box-sizing:border-box}
body{margin:0;padding:1.5rem;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:34rem;margin:0 auto}
h1{font-size:1.5rem;line-height:1.3}
h2{font-size:1.125rem;margin-top:1.5rem}
dt{color:var(--quiet)}
dd{margin:0 0 .75rem}
small{color:var(--quiet);font-size:1rem}
a{color:var(--accent)}
.warning{margin:1rem 0;padding:.75rem 1rem;border:1px solid var(--on-warning);border-radius:.5rem;background:var(--warning);color:var(--on-warning)}
.accounts{list-style:none;padding:0}
.accounts>li{padding:.75rem 0;border-top:1px solid var(--line)}
form{margin:.5rem 0}
button{min-height:2.75rem;min-width:7rem;margin:.5rem .5rem 0 0;padding:.5rem 1.25rem;border:1px solid var(--line);border-radius:.5rem;background:var(--page);color:var(--text);font:inherit;cursor:pointer}
button.first{border-color:var(--accent);background:var(--accent);color:var(--on-accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
`.replaceAll('\n', '');
