import Foundation
import MixModel
import NIOHTTP1
import Testing

@testable import HTTPInterface
@testable import MixOrchestrator
@testable import RoomService

/// Viewers over HTTP-FLV and HLS at nodes that redirect them (`node.viewers: redirect`), with scripted relays.
@Suite(.timeLimit(.minutes(3))) struct ClusterRedirectTests {
    /// Path and query to which an answer redirects on a node.
    private func target(_ answer: (status: Int, headers: HTTPHeaders), on node: ClusterMember) throws -> String {
        let location = try #require(answer.headers.first(name: "Location"), "\(answer.status)")
        #expect(answer.status == 307)
        #expect(location.hasPrefix(node.publicURL + "/live/"), "\(location)")
        return String(location.dropFirst(node.publicURL.count))
    }

    /// The signature stays valid at the other node. A request that has been redirected is never redirected again, and follows
    /// the room all the same.
    @Test func aViewerIsSentToTheRoomOnce() async throws {
        let key = "playback-key-0123456789"
        let signature = PlaybackAccess.authKey(path: "/live/demo.flv", time: 4_000_000_000, key: key)
        let path = "/live/demo.flv?task=auto-demo&auth_key=\(signature)"
        try await withCluster(settings: ["playback.key": [key]], redirectsViewers: true) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            try await a.publish("carol", room: "demo")
            try await eventually { a.running("auto-demo").first?.plan }
            #expect(try await a.call("GET", "/v1/nodes").text.contains(b.publicURL))
            let there = try target(await b.head(of: path), on: a)
            #expect(there == path + "&redirected=1")
            let opening = ScriptedProgram.opening()
            for node in [a, b] {
                #expect(try await node.head(of: there).status == 200, "\(node.name) redirects again")
                let seen = try await node.beginning(of: there, bytes: 13)
                #expect(seen.status == 200 && seen.bytes.starts(with: opening.prefix(13)))
            }
            #expect(try await b.head(of: "/live/demo.flv").status == 403, "a viewer without access is sent nowhere")
            let page = ["User-Agent": "Mozilla/5.0 (X11; Linux x86_64)"]
            #expect(try await b.head(of: path, headers: page).status == 200)

            #expect(try await a.call("POST", "/v1/node/drain").value("moved") == "1")
            let moved = try await eventually {
                let answer = try await a.head(of: path)
                return answer.status == 307 ? answer : nil
            }
            let back = try target(moved, on: b)
            #expect(back == there)
        }
    }

    /// Playlists name their files relative to their own address, so that a player stays at the node.
    @Test func aPlayerOfHLSIsSentToTheFiles() async throws {
        try await withCluster(redirectsViewers: true) { start in
            let (a, b) = (try await start("a", nil), try await start("b", nil))
            try await a.publish("alice", room: "demo")
            #expect(try await a.call("PUT", "/v1/rooms/demo/hls").status == 200)
            try await eventually { a.running("auto-demo").first { $0.plan?.outputs.hls != nil } }
            try KeptFiles.makeSession(a.data)
            for path in ["index.m3u8", "hls/1700000000000/video.m3u8", "hls/1700000000000/video-1.ts"] {
                let there = try target(await b.head(of: "/live/demo/" + path), on: a)
                #expect(there == "/live/demo/\(path)?redirected=1")
                #expect(try await a.head(of: there).status == 200)
                #expect(try await b.head(of: there).status == 200, "\(path): passed on the second time")
            }
            let master = try await a.call("GET", "/live/demo/index.m3u8?redirected=1")
            #expect(master.text.contains("\nhls/1700000000000/video.m3u8\n"), "\(master.text)")
        }
    }
}
