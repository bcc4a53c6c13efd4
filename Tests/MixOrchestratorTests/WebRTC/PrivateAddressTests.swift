import Foundation
import HTTPTypes
import MixModel
import RoomService
import TaskStore
import TestSupport
import Testing
import TextFormats

@testable import HTTPInterface
@testable import MixOrchestrator

/// Which WebRTC clients are told the machine's private addresses.
@Suite(.timeLimit(.minutes(3))) struct PrivateAddressTests {
    @Test(
        arguments: [
            ("127.0.0.1", "127.0.0.1:8080", true), ("127.0.0.1", "localhost:8080", true), ("::1", "[::1]:8080", true),
            ("127.0.0.1", "studio.localhost", true), ("10.1.2.3", "10.0.0.2:8080", true),
            ("fd00::7", "[fd00::2]", true),
            ("192.168.1.7", "mixer", true), ("192.168.1.7", "MIXER.local:8080", true),
            ("172.17.0.1", "mixer.home.arpa", true), ("100.64.0.9", "100.64.0.2", true),
            // The client of a proxy on this machine, or next to it.
            ("127.0.0.1", "studio.example", false), ("10.1.2.3", "studio.example:443", false),
            ("127.0.0.1", "203.0.114.7", false), ("::ffff:127.0.0.1", "studio.example", false),
            ("8.8.8.8", "localhost", false), ("8.8.8.8", "10.0.0.2", false), ("2001:4860::8", "mixer", false),
            ("unknown", "localhost", false), ("127.0.0.1", "", false), ("127.0.0.1", nil, false),
            ("127.0.0.1", "localhost.", false), ("127.0.0.1", ".local", false),
            ("127.0.0.1", "notlocal.example", false),
            ("127.0.0.1", "127.0.0.1@evil.example", false), ("127.0.0.1", "home.arpa.example", false),
        ] as [(String, String?, Bool)])
    func aClientIsLocalIfBothEndsOfItsConnectionAre(_ address: String, _ host: String?, _ isLocal: Bool) {
        let request = HTTPRequest(method: .post, scheme: "http", authority: host, path: "/whip/show/alice")
        #expect(WebRTCClient(request, address: address) == WebRTCClient(address: address, isLocal: isLocal))
    }

    @Test(arguments: ["X-Forwarded-For", "x-real-ip", "Forwarded", "Via"])
    func aProxyThatNamesItselfHasDistantClients(_ header: String) throws {
        var request = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/whip/show/alice")
        #expect(WebRTCClient(request, address: "127.0.0.1").isLocal)
        request.headerFields[try #require(HTTPField.Name(header))] = "198.51.100.1"
        #expect(!WebRTCClient(request, address: "127.0.0.1").isLocal)
    }

    /// A client chooses the host that a proxy passes on, so the host alone keeps no client of the example out.
    @Test func theExampleOfAProxyNamesItself() throws {
        let file = OpenAPIDocument.root.appendingPathComponent("deploy/README.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let example = try #require(text.firstMatch(of: /```nginx\n([^`]*)```/)?.1)
        var request = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/whip/show/alice")
        for header in example.matches(of: /proxy_set_header ([A-Za-z-]+)\s/) where header.1 != "Host" {
            request.headerFields[try #require(HTTPField.Name(String(header.1)))] = "198.51.100.1"
        }
        #expect(!WebRTCClient(request, address: "127.0.0.1").isLocal)
    }

    @Test(arguments: [("all", true), ("local", false), ("none", false)])
    func workersAreToldWhetherToNameThem(_ setting: String, _ isTold: Bool) async throws {
        try await withDirectory { directory in
            var settings = try ScriptedWHIPWorker.settings(in: directory)
            settings["webrtc.privateAddresses"] = [setting]
            try await withOrchestrator(directory: directory, store: MemoryTaskStore(), settings: settings) { bench in
                // A client without an address: requests of these tests have no connection.
                let published = try await bench.call(
                    .post, "/whip/show/alice", ScriptedWHIPWorker.offer(), headers: WHIPRouteTests.sdp)
                #expect(published.status == 201, "\(published.text)")
                try await bench.publishToIngest("ann")
                let watched = try await bench.call(
                    .post, "/whep/demo/ann", ScriptedWHIPWorker.offer(direction: "recvonly"),
                    headers: WHIPRouteTests.sdp)
                #expect(watched.status == 201, "\(watched.text)")
            }
            var told: [Bool?] = []
            for line in ScriptedWHIPWorker.told(in: directory) {
                let bytes = Data(line.utf8)
                if line.hasPrefix("{\"publish\""),
                    case .publish(let publisher) = try JSONDecoder().decode(WebRTCCommand.self, from: bytes)
                {
                    told.append(publisher.network.namesPrivateAddresses)
                } else if line.hasPrefix("{\"view\""),
                    case .view(let viewer, _) = try JSONDecoder().decode(PlayCommand.self, from: bytes)
                {
                    told.append(viewer.namesPrivateAddresses)
                }
            }
            #expect(told == [isTold, isTold])
        }
    }

    @Test func clientsOfWCSAreJudgedByTheirHandshake() async throws {
        try await WCSStage.run { stage in
            let heads: [[String: String]] = [[:], ["X-Forwarded-For": "198.51.100.1"]]
            for (number, headers) in heads.enumerated() {
                let client = try await stage.connect(headers: headers)
                #expect(try await client.next().name == "getUserData")
                await client.send(
                    "publishStream", WCSStage.stream("id-\(number)", "user\(number)#lobby", WCSStage.offer))
                #expect(try await client.next().name == "setRemoteSDP")
                let opened = try #require(stage.door.opened["session-\(number + 1)"])
                #expect(opened.client == WebRTCClient(address: "127.0.0.1", isLocal: number == 0))
            }
        }
    }

    @Test func theDoctorNamesTheKey() throws {
        func notes(_ webrtc: String, _ machine: [String]) throws -> [String] {
            let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml")
            let text = "ingest: { rtmp: { listen: \"127.0.0.1:1935\" } }\nwebrtc: { whip: on\(webrtc) }"
            try Data(text.utf8).write(to: file)
            defer { try? FileManager.default.removeItem(at: file) }
            let read = try OrchestratorConfiguration(ConfigurationKeys.reader(file: file.path, environment: [:]))
            return try #require(read.webrtc).notes(machine: machine.compactMap { InternetAddress(text: $0) })
        }
        let inside = ["127.0.0.1", "10.0.0.2", "fe80::1"]
        let local = try notes("", inside)
        #expect(local.count == 2 && local.last?.contains("only offers of its own network are answered") == true)
        #expect(local.last?.contains("webrtc.publicAddress") == true)
        let none = try notes(", privateAddresses: none", inside)
        #expect(none.last?.contains("every offer is refused") == true)
        for (webrtc, machine) in [
            (", privateAddresses: all", inside), ("", inside + ["8.8.8.8"]), (", publicAddress: 8.8.8.8", inside),
            (", addresses: [10.0.0.2]", inside), (", stun: \"stun:stun.example:3478\"", inside),
        ] {
            #expect(try notes(webrtc, machine).count == 1, "\(webrtc) \(machine)")
        }
        #expect(throws: StartupError.self) { try notes(", privateAddresses: some", inside) }
    }
}
