// Remove the focus from a clicked button, so that the page receives Enter.
document.addEventListener('click', e => {
  const b = e.target.closest('button'); if (b && e.detail > 0) b.blur();
});
