import ChildProcesses
import Configuration
import EventSubscription
import Foundation
import LayoutEngine
import MixModel
import Testing

@testable import MixOrchestrator
@testable import RoomService

@Suite struct ConfigurationTests {
    func configuration(
        _ yaml: String, environment: [String: String] = [:],
        overrides: OrchestratorConfiguration.Overrides = .init()
    ) throws -> OrchestratorConfiguration {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml")
        try Data(yaml.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try OrchestratorConfiguration(
            ConfigurationKeys.reader(file: file.path, environment: environment), overrides: overrides)
    }

    @Test func defaultsNeedNoFile() throws {
        let configuration = try OrchestratorConfiguration(ConfigurationKeys.reader(file: nil, environment: [:]))
        #expect(configuration.listen.description == "127.0.0.1:8080")
        #expect(configuration.roomCanvas == RoomCanvas(.portrait, followsHost: true))
        #expect(configuration.roomLayout == "auto")
        #expect(configuration.orphanTimeout == 300)
        #expect(configuration.roomOutputs.isEmpty && configuration.playsWithoutOutputs)
        #expect(!configuration.keepsRelays)
        #expect(configuration.hooks.settings.isEmpty && configuration.hooks.unmatched == .allow)
    }

    @Test func everyKeyIsRead() throws {
        let configuration = try configuration(
            """
            http: { listen: "127.0.0.1:9" }
            data: /d
            layouts: /l
            worker: /w/mixworker
            store: { url: "sqlite:" }
            apps: []
            callbacks: { allow: ["https://app.example"] }
            playback:
              key: 0123456789abcdef
              cors: ["https://player.example"]
              validity: 1800
              latencyCapMs: 3000
              maxViewers: 20
              maxViewersPerProgram: 10
            sources: { allow: ["rtmp://media.example:1935"], urlTemplate: "rtmp://media.example:1935/{room}/{user}" }
            outputs: { allow: ["rtmp://*.example"] }
            hooks:
              unmatched: refuse
              failClosed: true
              nginx-rtmp:
                secret: hook-secret-0123456789
                patterns: ["{room}/{user}", "{room}__{user}_*"]
                arguments: true
                app: default
                url: "rtmp://media.example:1935/{app}/{name}"
                allow: ["10.0.*"]
            rooms:
              outputs: ["rtmp://a.example/{room}", "backup=rtmp://b.example/{room}", {id: third, url: "rtmp://c.example/x"}]
              layout: grid
              canvas: { width: 1280, height: 720, fps: 30, background: "#010203" }
            relay: { orphanTimeout: 7, keep: true, readyMixer: false, programsPerProcess: 3, quantum: 8 }
            mixer: { encoder: va }
            memory: { mixer: 3000, rendition: 0 }
            log: { level: debug }
            media: { directory: /clips }
            """)
        #expect(configuration.listen.port == 9)
        #expect(configuration.data == "/d" && configuration.layouts == "/l" && configuration.worker == "/w/mixworker")
        #expect(configuration.urlTemplate == "rtmp://media.example:1935/{room}/{user}")
        let hooks = configuration.hooks
        let nginx = try #require(hooks.settings["nginx-rtmp"])
        #expect(hooks.unmatched == .refuse && hooks.failsClosed)
        #expect(nginx.secret.matches("hook-secret-0123456789") && !nginx.secret.matches("hook-secret-012345678"))
        #expect(nginx.names.patterns.map(\.text) == ["{room}/{user}", "{room}__{user}_*"])
        #expect(nginx.names.allowsArguments && nginx.urlTemplate?.text == "rtmp://media.example:1935/{app}/{name}")
        #expect(nginx.sources.allows("10.0.0.7") && !nginx.sources.allows("127.0.0.1"))
        #expect(!"\(hooks)".contains("hook-secret") && !String(reflecting: nginx).contains("hook-secret"))
        var dumped = ""
        dump(hooks, to: &dumped)
        #expect(!dumped.contains("hook-secret"))
        #expect(configuration.roomOutputs.map(\.id) == ["main", "backup", "third"])
        #expect(configuration.roomOutputs[1].url == "rtmp://b.example/{room}")
        #expect(configuration.roomLayout == "grid")
        let playback = configuration.playback
        #expect(playback.latencyCap == 3000 && playback.maxViewers == 20 && playback.maxViewersPerProgram == 10)
        #expect(playback.origins == .only(["https://player.example"]) && !playback.access.isOpen)
        #expect(
            configuration.roomCanvas
                == RoomCanvas(Canvas(width: 1280, height: 720, fps: 30, background: RGB(red: 1, green: 2, blue: 3))))
        #expect(configuration.orphanTimeout == 7 && configuration.keepsRelays && !configuration.keepsMixersReady)
        #expect(configuration.programsPerProcess == 3 && configuration.quantum == 8)
        #expect(configuration.encoder == "va")
        #expect(
            configuration.limits
                == WorkerLimits(
                    memory: [.mixer: 3000, .rendition: 0], images: "/d/images", media: ["/clips", "/d/media"]))
        #expect(configuration.logLevel == .debug)
    }

    @Test func optionsWinOverTheEnvironmentAndThatOverTheFile() throws {
        let yaml = "http: { listen: \"127.0.0.1:1\" }\ndata: /file\nrelay: { orphanTimeout: 1 }"
        let environment = [
            "MIXORCHESTRATOR_HTTP_LISTEN": "127.0.0.1:2", "MIXORCHESTRATOR_DATA": "/environment",
            "MIXORCHESTRATOR_RELAY_ORPHAN_TIMEOUT": "2", "MIXORCHESTRATOR_SOURCES_URL_TEMPLATE": "rtmp://h/{user}",
            "MIXORCHESTRATOR_ROOMS_OUTPUTS": "rtmp://127.0.0.1/a/{room},b=rtmp://127.0.0.1/b", "PATH": "/bin",
        ]
        let configuration = try configuration(yaml, environment: environment, overrides: .init(data: "/option"))
        #expect(configuration.data == "/option")
        #expect(configuration.listen.port == 2)
        #expect(configuration.orphanTimeout == 2)
        #expect(configuration.urlTemplate == "rtmp://h/{user}")
        #expect(configuration.roomOutputs.map(\.id) == ["main", "b"])
    }

    private static func hook(_ settings: String) -> String {
        "hooks: { nginx-rtmp: { secret: 0123456789abcdef, \(settings) } }"
    }

    @Test(arguments: [
        ("htpp: { listen: x }", ":1: htpp is not a setting. Did you mean http?"),
        ("data: x\nhttp:\n  listn: x", ":3: http.listn is not a setting. Did you mean http.listen?"),
        ("data: x\ndata: y", "data"),
        ("node: { drainSeconds: 5 }", "node.drainSeconds: found without node.url"),
        ("node: { drainSeconds: -1 }", "0…3600"),
        ("node: { viewers: proxy }", "node.viewers: found without node.url"),
        ("node: { viewers: send }", "one of proxy, redirect"),
        ("http: 7", "http: expected keys below it"), ("data: [a]", "data: expected a single value"),
        ("sources: { allow: { a: b } }", "sources.allow: expected a list"), ("- a", "expected keys"),
        ("a: [", "is not YAML"),
        ("playback: { secondaryKey: 0123456789abcdef }", "found without playback.key"),
        ("playback: { keyFile: /nowhere }", "playback.keyFile: found \"/nowhere\""),
        ("playback: { key: 0123456789abcdef, keyFile: /x }", "either playback.key or playback.keyFile"),
        ("playback: { cors: [player.example] }", "playback.cors"),
        ("playback: { access: signed }", "playback.access: found \"signed\" without a key"),
        ("playback: { access: open, key: 0123456789abcdef }", "playback.access: found \"open\" together with a key"),
        ("playback: { access: closed }", "one of open, signed"),
        ("playback: { key: x }", "playback.key: found 1 bytes"), ("relay: { orphanTimeout: 0 }", "1…86400"),
        ("relay: { orphanTimeout: soon }", "found \"soon\""), ("relay: { keep: perhaps }", "true or false"),
        ("mixer: { encoder: \"NVENC!\" }", "mixer.encoder: found \"NVENC!\""),
        ("memory: { relay: 15 }", "memory.relay: found \"15\""),
        ("memory: { viewer: 99 }", "memory.viewer is not a setting"),
        ("rooms: { canvas: { background: red } }", "#1A2B3C"), ("log: { level: loud }", "one of trace"),
        ("store: { url: \"mysql://x\" }", "expected \"sqlite:\""),
        ("store: { url: \"postgresql://u:s3cret@[h/x\" }", "store.url cannot be read"),
        ("store: { passwordFile: /x }", "store.passwordFile: found without a database"),
        ("store: { cluster: north }", "store.cluster: found without a database"),
        ("store: { url: \"postgresql://h/x\", cluster: \"a b\" }", "store.cluster: expected 1 to 100 letters"),
        ("store: { url: \"postgresql://h/x\", passwordFile: /nowhere }", "store.passwordFile: found \"/nowhere\""),
        ("sources: { allow: [\"media\"] }", "scheme://host"),
        ("rooms: { outputs: [\"rtmp://cdn.example/{room}\"] }", "outputs.allow"),
        ("rooms: { outputs: [\"a=rtmp://127.0.0.1/1\", \"a=rtmp://127.0.0.1/2\"] }", "no other output"),
        ("http: { listen: \"0.0.0.0:8080\" }", "refusing to listen on 0.0.0.0:8080"),
        ("http: { listen: \"127.evil.example:8080\" }", "refusing to listen"),
        ("http: { listen: \"8080\" }", "host:port"),
        ("hooks: { ngnix-rtmp: { secret: x } }", "Did you mean hooks.nginx-rtmp"),
        ("hooks: { nginx-rtmp: { secret: short } }", "hooks.nginx-rtmp.secret: found 5 bytes; expected 16 to 512"),
        ("hooks: { nginx-rtmp: { secretFile: /nowhere } }", "hooks.nginx-rtmp.secretFile: found \"/nowhere\""),
        ("hooks: { nginx-rtmp: { secret: 0123456789abcdef, secretFile: /x } }", "either hooks.nginx-rtmp.secret or"),
        ("hooks: { nginx-rtmp: { patterns: [\"{room}\"] } }", "which enables the hook"),
        ("hooks: { unmatched: drop }", "one of allow, refuse"),
        (Self.hook("patterns: [\"{rom}__{user}\"]"), "did you mean \"room\"?"),
        (Self.hook("patterns: [\"{room}-x\"]"), "hooks.nginx-rtmp.patterns[0]"),
        (Self.hook("patterns: [\"{room}__{user}\", \"{app}/{room}__{user}\"], app: default"), "beside the setting app"),
        (Self.hook("app: shop"), "hooks.nginx-rtmp.app: found \"shop\"; expected one of \"default\""),
        (Self.hook("url: \"rtmp://h/{naem}\""), "did you mean \"name\"?"),
        (Self.hook("allow: [media.example]"), "hooks.nginx-rtmp.allow[0]"),
        (
            "ingest: { rtmp: { listen: \"0.0.0.0:1935\" } }",
            "refusing to listen on 0.0.0.0:1935: without a key or tokens"
        ),
        ("ingest: { rtmp: { listen: 1935 } }", "expected host:port"),
        ("ingest: { rtmp: { listen: \"media.example:1935\" } }", "expected an IP address and a port"),
        ("ingest: { key: 0123456789abcdef }", "a key without ingest.rtmp.listen"),
        (Self.ingest("grace: 301"), "ingest.grace: found \"301\""),
        (Self.ingest("takeover: maybe"), "one of replace, refuse"),
        (Self.ingest("play: sometimes"), "one of on, off"),
        (Self.ingest("patterns: [\"{room}\"]"), "ingest.patterns[0]"),
        (Self.ingest("app: shop"), "one of the apps"),
        (Self.ingest("key: short"), "ingest.key: found 5 bytes"),
        ("ingest: { rtmps: { listen: \"127.0.0.1:443\" } }", "RTMPS without ingest.rtmp.listen"),
        (
            "http: { tls: { certificateFile: /c.pem } }",
            "http.tls.keyFile: found nothing beside http.tls.certificateFile"
        ),
        ("http: { tls: { keyFile: /k.pem } }", "http.tls.certificateFile: found nothing beside http.tls.keyFile"),
        (Self.ingest("rtmps: { listen: \"127.0.0.1:443\", certificate: /c.pem }"), "ingest.rtmps.key: found nothing"),
        (
            Self.ingest("rtmps: { certificate: /c.pem }"),
            "ingest.rtmps.listen: found ingest.rtmps.certificate without it"
        ),
        (Self.ingest("rtmps: { listen: \"127.0.0.1:1935\", certificate: /c, key: /k }"), "another port"),
        (
            Self.ingest("rtmps: { listen: \"0.0.0.0:443\", certificate: /c, key: /k }"),
            "ingest.rtmps.listen: refusing to listen on 0.0.0.0:443"
        ),
        (Self.ingest("onPublish: { timeout: 2 }"), "ingest.onPublish.url: found nothing"),
        (Self.ingest("onPublish: { url: \"http://app.example/hook\" }"), "callbacks.allow allows"),
        (Self.ingest("onPublish: { url: \"rtmp://127.0.0.1/hook\" }"), "one of http://, https://"),
        (Self.ingest("onPublish: { url: \"http://127.0.0.1/hook\", timeout: 8 }"), "a number, 0.1…7.0"),
        (Self.ingest("onPublish: { url: \"http://127.0.0.1/hook\", secret: 0123456789abcdef }"), "whsec_ followed by"),
    ])
    func whatIsWrongIsNamed(_ yaml: String, _ expected: String) {
        let error = #expect(throws: StartupError.self) { try configuration(yaml) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        ("webrtc: { whip: on }", "webrtc.whip: found on without ingest.rtmp.listen"),
        (Self.webrtc("addresses: [localhost]"), "IP addresses of this machine"),
        (Self.webrtc("publicAddress: mixer.example"), "an IP address, as in 203.0.113.7"),
        (Self.webrtc("ports: 50000"), "as in 50000-50199"), (Self.webrtc("ports: 50010-50000"), "as in 50000-50199"),
        (Self.webrtc("ports: 80-90"), "as in 50000-50199"), (Self.webrtc("stun: stun.example"), "stun:host:port"),
        (Self.webrtc("turn: { user: mixer }"), "webrtc.turn.url: found nothing"),
        (Self.webrtc("turn: { url: \"turn:turn.example:3478\" }"), "webrtc.turn.user: found nothing"),
        (
            Self.webrtc("turn: { url: \"turn:turn.example:3478\", user: mixer, password: \"two words\" }"),
            "webrtc.turn.password: found 9 bytes"
        ),
        (Self.webrtc("turn: { url: \"turn:turn.example\" }"), "webrtc.turn.url: found another text"),
        (
            Self.webrtc("turn: { url: \"turns:turn.example:443?transport=udp\" }"),
            "as in turn:turn.example:3478 or turns"
        ),
        (
            Self.webrtc("turn: { url: \"turn:turn.example:3478\", user: mixer, secret: north }"),
            "webrtc.turn.secret: found it beside user or password"
        ),
        (
            Self.webrtc("turn: { url: \"turn:turn.example:3478\", user: mixer, password: p, validity: 600 }"),
            "webrtc.turn.validity: found it without webrtc.turn.secret"
        ),
        (Self.webrtc("turn: { url: \"turn:turn.example:3478?x=1\" }"), "at most 8, separated by commas"),
        (Self.webrtc("startBitRate: 5"), "webrtc.startBitRate: found \"5\""),
        (Self.webrtc("silence: 0"), "a number, 1.0…60.0"), (Self.webrtc("maxPublishers: 0"), "webrtc.maxPublishers"),
        (Self.webrtc("cors: [studio.example]"), "webrtc.cors: found \"studio.example\""),
    ])
    func whatIsWrongWithWebRTCIsNamed(_ yaml: String, _ expected: String) {
        let error = #expect(throws: StartupError.self) { try configuration(yaml) }
        #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
    }

    @Test func aMisspeltVariableIsNamed() {
        let error = #expect(throws: StartupError.self) {
            try configuration("", environment: ["MIXORCHESTRATOR_HTTP_LISTN": "x"])
        }
        #expect(error?.description.contains("Did you mean MIXORCHESTRATOR_HTTP_LISTEN?") == true)
    }

    @Test func theVariablesAreThoseThatTheReaderLooksFor() throws {
        // A distinct value for each scalar key.
        for (key, kind) in ConfigurationKeys.known {
            let reader = try ConfigurationKeys.reader(
                file: nil, environment: ["MIXORCHESTRATOR_" + ConfigurationKeys.variable(key): "value"])
            switch kind {
            case .scalar: #expect(reader.string(forKey: ConfigKey(key)) == "value", "\(key)")
            case .list: #expect(reader.stringArray(forKey: ConfigKey(key)) == ["value"], "\(key)")
            }
        }
    }

    @Test func theExampleIsGood() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../deploy/mixorchestrator.yaml").standardizedFileURL.path
        let configuration = try OrchestratorConfiguration(ConfigurationKeys.reader(file: file, environment: [:]))
        #expect(configuration.listen.description == "127.0.0.1:8080")
    }

    @Test(arguments: [
        ("{ fps: 25 }", false), ("{ width: 640, height: 360 }", false), ("{ background: \"#102030\" }", true),
        ("{ follows: host, width: 640, height: 360 }", true), ("{ follows: none }", false),
    ])
    func aSizeFixesTheCanvasUnlessItFollows(_ canvas: String, _ follows: Bool) throws {
        #expect(try configuration("rooms: { canvas: \(canvas) }").roomCanvas.followsHost == follows)
    }

    @Test func anEmptyListOfOutputsIsNotAnOmittedOne() throws {
        #expect(try !configuration("rooms: { outputs: [] }").playsWithoutOutputs)
        #expect(try configuration("rooms: { layout: auto }").playsWithoutOutputs)
    }

    /// Includes keys that are there only as a comment.
    @Test func theExampleShowsEveryKey() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../deploy/mixorchestrator.yaml").standardizedFileURL
        let text = try String(contentsOf: file, encoding: .utf8)
        var shown: Set<String> = []
        var path: [(indent: Int, key: String)] = []
        for line in text.split(separator: "\n") {
            guard let match = line.firstMatch(of: /^( *)(?:# )?([a-zA-Z-]+):(?: (.*))?$/) else { continue }
            let indent = match.1.count
            path.removeAll { $0.indent >= indent }
            path.append((indent, String(match.2)))
            let key = path.map(\.key).joined(separator: ".")
            shown.insert(key)
            // Keys in braces.
            for inner in (match.3 ?? "").matches(of: /[{,] *([a-zA-Z]+):/) { shown.insert("\(key).\(inner.1)") }
        }
        // The keys of one hook represent those of the others.
        let others = EventHooks.all.map { "hooks.\($0.name)." }.filter { $0 != "hooks.nginx-rtmp." }
        for key in ConfigurationKeys.known.keys.sorted() where !shown.contains(key) {
            if others.contains(where: { key.hasPrefix($0) }) { continue }
            Issue.record("deploy/mixorchestrator.yaml misses \(key)")
        }
    }

    @Test func appsShareChannelsAndConnections() throws {
        let channel = try #require(try configuration("apps: [{ id: shop }, { id: zoo }]").channel)
        #expect(channel.settings.apps == [.standard, "shop", "zoo"] && channel.warnings.isEmpty)
        let few = try #require(
            try configuration("channel: { maxChannels: 1 }\napps: [{ id: shop }, { id: zoo }]").channel)
        #expect(few.warnings.first?.hasPrefix("channel.maxChannels: 1 places for 3 apps") == true, "\(few.warnings)")
        let faults = try configuration("socketio: { maxSessions: 3 }\napps: [{ id: shop }, { id: zoo }]").faults
        let fault =
            "socketio.maxSessions: 3 places for 3 apps, and for clients that have not named theirs, so one app may "
            + "take all of them: raise it to at least 4"
        #expect(faults.contains(fault), "\(faults)")
        let alone = try configuration("socketio: { maxSessions: 1 }").faults
        #expect(!alone.contains { $0.hasPrefix("socketio.maxSessions") }, "\(alone)")
    }
}
