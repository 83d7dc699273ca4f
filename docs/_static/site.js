// Give every picture of a page (not the gallery's thumbnails) a box to scroll in; site.css says when it does.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("article img:not(.sphx-glr-thumbcontainer img)")) {
    const box = document.createElement("div");
    box.className = "scrolls";
    const shown = image.closest("a.image-reference") ?? image;
    shown.replaceWith(box);
    box.append(shown);
  }
});
