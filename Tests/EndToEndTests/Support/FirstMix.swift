import EncodedMedia
import Foundation
import Testing

@testable import ViewerProbe

/// Two publishers of the service's own RTMP server, of which the second one comes and goes, and a viewer of the program
/// over HTTP-FLV. Nothing else is needed: no event, and no room that was made before.
struct FirstMix {
    /// Times in ms until the viewer has the other picture, the shortest first.
    struct Times: Sendable {
        /// From the moment at which the room has the second publisher. Only then may it send its first keyframe.
        fileprivate(set) var joins: [Double] = []
        /// From the moment at which the room has lost the second publisher.
        fileprivate(set) var leaves: [Double] = []

        /// Expects a mix within a second, and a bypass at the host's next IDR, which comes within a second.
        func expectWithinLimits() throws {
            for (what, times, limit) in [("join", joins, 1000.0), ("leave", leaves, 1500)] {
                let median = try #require(times.dropFirst(times.count / 2).first, "\(what)")
                let longest = try #require(times.last, "\(what)")
                #expect(median < limit && longest < 3 * limit, "\(what): \(times)")
            }
        }
    }

    let client: ServiceClient
    let room: String
    /// Port of the RTMP server.
    let port: Int
    /// Directory for files and messages.
    let directory: URL

    /// Lets the second publisher come and go `rounds` times, and returns what the viewer waited for. The viewer may not
    /// lose its connection.
    func measure(rounds: Int) async throws -> Times {
        let clip = directory.appendingPathComponent("bob.flv").path
        let make = try ManagedProcess(
            "clip", "ffmpeg", SyntheticPublisher(id: 2, gopSeconds: 1, seconds: 15).arguments(url: clip), in: directory)
        try await waitUntil("the clip is made") { !make.isRunning }
        try await waitUntil("the RTMP server listens") { HookingMediaServer.isServed(port) }
        let place = "rtmp://127.0.0.1:\(port)/live/\(room)__"
        let alice = try ManagedProcess(
            "alice", "ffmpeg", SyntheticPublisher(id: 1, gopSeconds: 1).arguments(url: place + "alice"), in: directory)
        try await waitForOnAir("bypass")
        let viewer = ProbeRecorder(
            url: "http://127.0.0.1:\(client.port)/live/\(room).flv",
            path: directory.appendingPathComponent("viewer.flv").path)
        defer { viewer.stop() }
        try viewer.start()
        try await viewer.receive(pictures: 5)
        var changes: [(isJoin: Bool, at: Int64)] = []
        for round in 1...rounds {
            let bob = try ManagedProcess(
                "bob-\(round)", "ffmpeg",
                ["-nostdin", "-v", "error", "-re", "-i", clip, "-c", "copy", "-f", "flv", place + "bob"], in: directory)
            changes.append((true, try await waitForUsers(["alice", "bob"])))
            try await waitForOnAir("mix", users: ["alice", "bob"])
            try await Task.sleep(for: .milliseconds(1500 + 170 * round))
            await bob.stop()
            changes.append((false, try await waitForUsers(["alice"])))
            try await waitForOnAir("bypass")
            try await Task.sleep(for: .milliseconds(1500))
        }
        viewer.stop()
        await alice.stop()
        let recording = await viewer.recording()
        #expect(recording.connections == 1)
        return try times(of: changes, in: recording)
    }

    private func times(of changes: [(isJoin: Bool, at: Int64)], in recording: FLVRecording) throws -> Times {
        let video = try recording.trace().video
        var times = Times()
        for (isJoin, at) in changes {
            let before = video.last { $0.arrival ?? .max < at }?.configuration
            let next = try #require(
                video.first { $0.arrival ?? 0 >= at && $0.configuration != before }?.arrival,
                "no change after \(isJoin ? "a join" : "a leave")")
            let time = Double(next - at) / 1e6
            if isJoin { times.joins.append(time) } else { times.leaves.append(time) }
        }
        times.joins.sort()
        times.leaves.sort()
        print("ms until the viewer has it: joins \(times.joins.map { $0.rounded() })", terminator: ", ")
        print("leaves \(times.leaves.map { $0.rounded() })")
        return times
    }

    /// Suspends until the room has exactly these users, and returns the time in ns.
    private func waitForUsers(_ users: Set<String>) async throws -> Int64 {
        try await waitUntil("the room has \(users.sorted())", every: 5) { try await client.users(room) == users }
        return MonotonicClock.now()
    }

    /// - Parameter users: Users in the picture of a mix.
    private func waitForOnAir(_ kind: String, users: Set<String>? = nil) async throws {
        var last: ServiceClient.TaskState?
        try await waitUntil("\(kind) of \(users?.sorted() ?? []): \(String(describing: last))") {
            last = try await client.task(room)?.state
            return last?.onAir == kind && (users == nil || last?.users == users)
        }
    }
}
