// A sign-in link has its secret behind the #. It goes into the form, and out of the address and the history.
function signIn() {
  const secret = location.hash.slice(1);
  const field = document.getElementById("token");
  if (secret && field) {
    history.replaceState(null, "", location.pathname + location.search);
    field.value = secret;
    field.form.requestSubmit();
  }
}

signIn();
// Opened on the very same page.
window.addEventListener("hashchange", signIn);
