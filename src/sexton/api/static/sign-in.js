// A sign-in link has its secret behind the #. It goes into the form, and out of the address and the history.
function signIn() {
  const secret = location.hash.slice(1);
  const field = document.getElementById("token");
  if (secret && field) {
    history.replaceState(null, "", location.pathname + location.search);
    field.value = secret;
    field.form.requestSubmit();
  } else if (secret) {
    // On the page that refused another link there is no form. The query makes it another page, which is loaded.
    location.replace("/sign-in?next=%2F#" + secret);
  }
}

signIn();
// Opened on the very same page.
window.addEventListener("hashchange", signIn);
