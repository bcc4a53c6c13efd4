import Foundation

/// A process in place of `mixworker page`. It is started by the service and speaks the messages of `PageMessage.swift`
/// over the real socket, and reports at once that its page is on air. It runs no browser and sends no media.
///
/// A page whose address ends in `/fails` is failing from then on, one whose address ends in `/ends` ends itself, and
/// nothing is reported of one whose address ends in `/waits`.
enum ScriptedPageWorker {
    /// Settings of a service that starts this worker.
    static func settings(in directory: String) throws -> [String: [String]] {
        let path = directory + "/page-worker"
        try Data(script(directory).utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return [
            "worker": [path], "ingest.rtmp.listen": ["127.0.0.1:19360"], "pages.enabled": ["true"],
            "pages.sandbox": ["off"], "pages.cores": ["0"], "pages.freeMemory": ["0"],
        ]
    }

    /// The commands that workers received, one line each: the process, and the command.
    static func told(in directory: String) -> [(process: Int32, command: String)] {
        let text = (try? String(contentsOfFile: directory + "/told", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let process = Int32(parts[0]) else { return nil }
            return (process, String(parts[1]))
        }
    }

    /// The processes that received a page to open, in order. Each run of the service adds those that it takes over.
    static func openers(in directory: String) -> [Int32] {
        told(in: directory).filter { $0.command.contains("\"publish\"") }.map(\.process)
            .reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// The processes whose browsers were started before their pages were known, in order.
    static func prepared(in directory: String) -> [Int32] {
        told(in: directory).filter { $0.command.contains("\"prepare\"") }.map(\.process)
    }

    private static func script(_ directory: String) -> String {
        """
        #!/usr/bin/env python3
        import json, os, socket, sys

        if sys.argv[1] != "page":
            sys.exit(3)
        path = sys.argv[sys.argv.index("--socket") + 1]
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(4)
        state = {"step": "starting"}

        def serve(connection):
            def say(message):
                connection.sendall((json.dumps(message) + "\\n").encode())
            for line in connection.makefile():
                with open("\(directory)/told", "a") as log:
                    log.write(f"{os.getpid()} {line}")
                (kind, values), = json.loads(line).items()
                if kind == "hello":
                    say({"hello": {"version": 1, "process": os.getpid()}})
                    if state["step"] != "starting":
                        say({"state": {"_0": state}})
                elif kind == "prepare":
                    say({"prepared": {}})
                elif kind == "publish":
                    address = values["_0"]["address"]
                    if address.endswith("/waits"):
                        continue
                    state["step"] = "on-air"
                    say({"state": {"_0": state}})
                    if address.endswith("/fails"):
                        state.update(step="failing", reason="no answer from http://127.0.0.1:8000/board?key=S3CRET")
                        say({"state": {"_0": state}})
                    if address.endswith("/ends"):
                        say({"ended": {"reason": "the page has ended it"}})
                        return False
                elif kind == "terminate":
                    return False
            return True

        while serve(listener.accept()[0]):
            pass
        os.unlink(path)
        """
    }
}
