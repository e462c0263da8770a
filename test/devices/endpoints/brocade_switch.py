"""A Fibre Channel switch as fence_brocade sees it: an SSH server with three commands.

What it knows is in files of the directory that it is given: `port-N` (1 or 0), `fault-N`, `actions-N`, `held-N`. Prints
its port and its host key as one line of JSON, and ends when its input ends.
"""
import json
import os
import socket
import sys
import threading
import time

import paramiko

DIR = sys.argv[1]
PASSWORD = sys.stdin.readline().rstrip("\n")
PROMPT = "fcswitch:admin> "
PORTS = range(4)


def read(name, default=""):
    try:
        with open(os.path.join(DIR, name), encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return default


def write(name, text, mode="w"):
    with open(os.path.join(DIR, name), mode, encoding="utf-8") as file:
        file.write(text)


def show():
    lines = ["switchName:\tfcswitch", "switchState:\tOnline", "", "Index Port Address Media Speed State     Proto", "=" * 50]
    for port in PORTS:
        row = "  %2d  %2d   0102%02x   id    N8   %s"
        if read("port-%d" % port, "1") == "1":
            lines.append(row % (port, port, port, "Online      FC  F-Port  50:06:01:60:3b:a0:11:%02x" % port))
        else:
            lines.append(row % (port, port, port, "No_Light    FC  Disabled (Persistent)"))
    return lines


def switch(port, power):
    write("actions-%d" % port, "%s\n" % power, "a")
    fault = read("fault-%d" % port, "none")
    if fault == "refuses":
        return ["RBAC permission denied."]
    if fault == "late":
        write("held-%d" % port, power)
    elif fault != "ignores":
        write("port-%d" % port, power)
    return ["Operation failed."] if fault == "reportsFailure" else []


class Server(paramiko.ServerInterface):
    def check_auth_password(self, username, password):
        known = username == "admin" and password == PASSWORD
        return paramiko.AUTH_SUCCESSFUL if known else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username):
        return "password"

    def check_channel_request(self, kind, chanid):
        return paramiko.OPEN_SUCCEEDED if kind == "session" else paramiko.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_pty_request(self, *_):
        return True

    def check_channel_shell_request(self, channel):
        return True


def answer(command):
    words = command.split()
    if words == ["switchshow"]:
        return show()
    if len(words) == 2 and words[0] in ("portCfgPersistentDisable", "portCfgPersistentEnable") and words[1].isdigit():
        return switch(int(words[1]), "0" if "Disable" in words[0] else "1")
    return ["rbash: %s: command not found" % command] if words else []


def serve(client, key):
    transport = paramiko.Transport(client)
    try:
        transport.add_server_key(key)
        transport.start_server(server=Server())
        channel = transport.accept(30)
        if channel is None:
            return
        lines = channel.makefile("r")
        channel.sendall(PROMPT)
        for line in lines:
            if line.strip() == "exit":
                break
            while any(read("fault-%d" % port) == "hangs" for port in PORTS):
                time.sleep(0.05)
            channel.sendall("".join(text + "\r\n" for text in answer(line.strip())) + PROMPT)
    except (EOFError, OSError, paramiko.SSHException):
        pass
    finally:
        transport.close()


def accept(listener, key):
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, key), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
host_key = paramiko.ECDSAKey.generate()
threading.Thread(target=accept, args=(listener, host_key), daemon=True).start()
print(json.dumps({"port": listener.getsockname()[1], "key": "%s %s" % (host_key.get_name(), host_key.get_base64())}), flush=True)
sys.stdin.read()
