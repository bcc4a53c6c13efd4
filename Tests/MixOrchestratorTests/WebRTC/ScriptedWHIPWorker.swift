import Foundation

/// A process in place of `mixworker whip` and `mixworker whep`. It is started by the service and speaks the messages of
/// `WebRTCMessage.swift` and `PlayMessage.swift` over the real socket. The session's name in the offer (`s=`) selects
/// its behaviour. It sends no media.
enum ScriptedWHIPWorker {
    static let iceName = "EsAw"

    /// The reaction to an offer.
    enum Behaviour: String {
        /// Answers, and accepts the following commands.
        case answers
        /// Answers, and refuses to restart ICE.
        case steady
        /// Refuses the offer in words.
        case refuses
        /// Never answers.
        case silent
        /// Ends without an answer.
        case dies
        /// Answers, connects, and ends after a moment.
        case leaves
        /// Like `leaves`, because another publisher has taken its stream, or because the ingest refuses it.
        case replaced, denied
        /// Answers, and publishes with the real `mixworker publish` to the URL that it received.
        case publishes
    }

    static func offer(
        _ behaviour: Behaviour = .answers, video: String = "H264/90000", direction: String = "sendonly"
    ) -> String {
        let transport = """
            c=IN IP4 0.0.0.0
            a=ice-ufrag:\(iceName)
            a=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1
            a=fingerprint:sha-256 6B:8B:F0:65:5F:78:E2:51:3B:AC:6F:F3:3F:46:1B:35:DC:B8:5F:64:1A:24:C2:43:F0:A1:58:D0:A1:2C:19:08
            a=setup:actpass
            a=\(direction)
            a=rtcp-mux
            """
        return """
            v=0
            o=- 1 1 IN IP4 0.0.0.0
            s=\(behaviour.rawValue)
            t=0 0
            a=group:BUNDLE 0 1
            m=audio 9 UDP/TLS/RTP/SAVPF 111
            \(transport)
            a=mid:0
            a=rtpmap:111 opus/48000/2
            m=video 9 UDP/TLS/RTP/SAVPF 109
            \(transport)
            a=mid:1
            a=rtpmap:109 \(video)
            a=fmtp:109 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f

            """
    }

    /// Settings of a service that starts this worker.
    ///
    /// - Parameter port: The real ingest's port; `nil` if there is none.
    static func settings(in directory: String, port: Int? = nil) throws -> [String: [String]] {
        [
            "worker": [try install(in: directory, runsIngest: port != nil)], "webrtc.whip": ["on"],
            "webrtc.whep": ["on"],
            "ingest.rtmp.listen": ["127.0.0.1:\(port ?? 19_350)"],
        ]
    }

    /// Returns the commands that workers received, one line each.
    static func told(in directory: String) -> [String] {
        let text = (try? String(contentsOfFile: directory + "/told", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    static var mixworker: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("mixworker").path
    }

    private static func install(in directory: String, runsIngest: Bool) throws -> String {
        let path = directory + "/worker"
        try Data(script(directory, runsIngest: runsIngest).utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        return path
    }

    private static func script(_ directory: String, runsIngest: Bool) -> String {
        """
        #!/usr/bin/env python3
        import json, os, socket, subprocess, sys

        directory, mixworker = "\(directory)", "\(mixworker)"
        plays = sys.argv[1] == "whep"
        if not plays and sys.argv[1] != "whip":
            if not \(runsIngest ? "True" : "False"):
                sys.exit(3)
            os.execv(mixworker, [mixworker] + sys.argv[1:])
        path = sys.argv[sys.argv.index("--socket") + 1]
        with open(directory + "/told", "a") as log:
            log.write("argv " + " ".join(sys.argv[1:]) + "\\n")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(4)
        state = {"name": None, "publisher": None, "child": None, "stream": None}
        viewers = {}

        def play(say, kind, values):
            if kind == "play":
                state["stream"] = values["_0"]["stream"]
            elif kind == "view":
                viewer = values["_0"]
                name = [l[2:] for l in values["offer"].splitlines() if l.startswith("s=")][0]
                if name == "dies":
                    os._exit(7)
                if name == "refuses":
                    return say({"refused": {"viewer": viewer["id"], "reason": "no path: rtmp://u:p@127.0.0.1/x/secret"}})
                if name == "silent":
                    return
                viewers[viewer["id"]] = viewer
                say({"answered": {"viewer": viewer["id"], "answer": "v=0\\r\\ns=answer\\r\\n"}})
                say({"connected": {"viewer": viewer["id"]}})
                say({"figures": {"_0": {"connected": 1, "packets": 90, "lost": 3, "keyframeRequests": 1}}})
                if name == "leaves":
                    del viewers[viewer["id"]]
                    say({"ended": {"viewer": viewer["id"], "reason": "the client was silent for 10 s"}})
            elif kind == "close":
                viewers.pop(values["viewer"], None)

        def serve(connection):
            def say(message):
                connection.sendall((json.dumps(message) + "\\n").encode())
            for line in connection.makefile():
                with open(directory + "/told", "a") as log:
                    log.write(line)
                (kind, values), = json.loads(line).items()
                if kind == "hello" and plays:
                    say({"hello": {"version": 1, "process": os.getpid(), "stream": state["stream"],
                                   "viewers": list(viewers.values())}})
                elif kind == "terminate":
                    return False
                elif plays:
                    play(say, kind, values)
                elif kind == "hello":
                    say({"hello": {"version": 1, "process": os.getpid()}})
                    if state["name"] and state["name"] != "silent":
                        say({"connected": {}})
                elif kind == "publish":
                    publisher = values["_0"]
                    name = [l[2:] for l in publisher["offer"].splitlines() if l.startswith("s=")][0]
                    state["name"] = name
                    if name == "dies":
                        os._exit(7)
                    if name == "refuses":
                        say({"refused": {"reason": "the element nicesrc is missing: rtmp://u:p@127.0.0.1/x/secret"}})
                    elif name != "silent":
                        say({"answered": {"answer": "v=0\\r\\ns=answer\\r\\n"}})
                        say({"connected": {}})
                        say({"figures": {"_0": {"packets": 90, "lost": 3, "bitRate": 2500000, "keyframeRequests": 1}}})
                    if name == "leaves":
                        say({"ended": {"reason": "the client was silent for 3 s"}})
                        return False
                    if name in ("replaced", "denied"):
                        words = {"replaced": "another publisher has taken over this stream key", "denied": "ask rtmp://u:p@127.0.0.1/x/secret"}
                        say({"ended": {"reason": "the stream was not taken: the server refused to publish it: " + words[name],
                                       "cause": {"replaced": "stream_replaced", "denied": "stream_refused"}[name]}})
                        return False
                    if name == "publishes":
                        state["child"] = subprocess.Popen([mixworker, "publish", publisher["target"]],
                                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                elif kind == "restart" and state["name"] == "steady":
                    say({"refused": {"reason": "webrtcbin does not restart ICE"}})
                elif kind == "restart":
                    say({"restarted": {"fragment": "a=ice-ufrag:new1\\r\\na=ice-pwd:0123456789012345678901\\r\\n"}})
            return True

        try:
            while serve(listener.accept()[0]):
                pass
        finally:
            if state["child"]:
                state["child"].terminate()
                state["child"].wait()
            os.unlink(path)
        """
    }
}
