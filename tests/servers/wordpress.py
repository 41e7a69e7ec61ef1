"""WordPress as Debian has it, on PHP's own server and a private MariaDB."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from sexton import clock
from tests.servers.sandbox import Sandbox, free_port

SOURCE = Path("/usr/share/wordpress")
USER = "editor"

# Application passwords need https, or a site of the type local.
CONFIG = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{socket}');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('AUTH_KEY', 'a'); define('SECURE_AUTH_KEY', 'b'); define('LOGGED_IN_KEY', 'c');
define('NONCE_KEY', 'd');
define('AUTH_SALT', 'e'); define('SECURE_AUTH_SALT', 'f'); define('LOGGED_IN_SALT', 'g');
define('NONCE_SALT', 'h');
define('WP_SITEURL', '{url}');
define('WP_HOME', '{url}');
define('WP_ENVIRONMENT_TYPE', 'local');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('DISABLE_WP_CRON', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""

# Installs without a browser or a mail, and prints a new application password.
INSTALL = """<?php
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = '127.0.0.1';
function wp_new_blog_notification() {{}}
require '{folder}/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('Test', '{user}', 'editor@example.com', false, '', 'a-password');
list($password) = WP_Application_Passwords::create_new_application_password(1, array('name' => 'sexton'));
echo "\\npassword=$password\\n";
"""


def start_wordpress(sandbox: Sandbox) -> str:
    """Its address, with the user and the application password."""
    folder, data = sandbox.folder / "site", sandbox.folder / "data"
    socket, port = sandbox.folder / "db.sock", free_port()
    account = ["--user=mysql"] if os.geteuid() == 0 else []
    data.mkdir()
    if account:
        shutil.chown(data, "mysql")
        shutil.chown(sandbox.folder, "mysql")
    _call("mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
          "--auth-root-authentication-method=normal", *account)  # fmt: skip
    sandbox.run(
        ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={socket}", "--skip-networking",
         *account, f"--pid-file={sandbox.folder / 'db.pid'}", "--innodb-flush-log-at-trx-commit=0"]
    )  # fmt: skip
    # A copy: PHP follows links, and would find the configuration of the system's site.
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("languages", "wp-config.php"))
    url = f"http://127.0.0.1:{port}"
    (folder / "wp-config.php").write_text(CONFIG.format(socket=socket, url=url), "utf-8")
    _make_database(sandbox, socket)
    script = sandbox.write("install.php", INSTALL.format(folder=folder, user=USER))
    said = _call("php", "-d", "display_errors=stderr", str(script))
    password = said.rpartition("password=")[2].strip()
    sandbox.run(["php", "-S", f"127.0.0.1:{port}", "-t", folder], {"PHP_CLI_SERVER_WORKERS": "4"})
    return f"http://{USER}:{password}@127.0.0.1:{port}"


def _make_database(sandbox: Sandbox, socket: Path) -> None:
    end = clock.monotonic() + 60
    command = (
        "mariadb",
        "--no-defaults",
        f"--socket={socket}",
        "--user=root",
        "-e",
        "create database wordpress",
    )
    while True:
        try:
            _call(*command)
        except RuntimeError as error:
            if (why := sandbox.failed()) or clock.monotonic() > end:
                raise RuntimeError(why or str(error)) from None
            clock.block(0.1)
        else:
            return


def _call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout
