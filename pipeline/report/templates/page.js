"use strict";
// Paper shows what is folded on the screen; afterwards the page is as it was.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open])")];
  opened.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => { opened.forEach((each) => { each.open = false; }); });
