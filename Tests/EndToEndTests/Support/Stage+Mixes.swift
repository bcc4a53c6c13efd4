@testable import ViewerProbe

/// Two participants in one picture.
extension Stage {
    /// Puts alice and bob, who publish small pictures, on air together.
    @discardableResult
    func openMix() async throws -> ServiceClient.TaskState {
        for (name, id) in [("alice", 1), ("bob", 2)] {
            try await publish(name, SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 1))
        }
        try await open(host: "alice")
        try await join("bob")
        return try await waitForOnAir("mix", users: ["alice", "bob"])
    }

    /// Puts alice on air, and then bob beside her.
    ///
    /// - Returns: A viewer who has received some pictures of alice alone, and the panes of the mix.
    func openWatchedMix() async throws -> (
        viewer: ProbeRecorder, panes: Set<ServiceClient.TaskState.SceneState.Pane>
    ) {
        try await publish("alice", SyntheticPublisher(id: 1))
        try await publish("bob", SyntheticPublisher(id: 2, gopSeconds: 1))
        try await open(host: "alice")
        let viewer = try await watch()
        try await viewer.receive(pictures: 60)
        try await join("bob")
        return (viewer, try await waitForOnAir("mix", users: ["alice", "bob"]).panes)
    }

    /// Makes a guest join the host and leave again: bypass → mix → bypass.
    ///
    /// - Parameter time: Returns how long the mix, and then the bypass, is on air.
    func mixAndReturn(
        _ host: String, with guest: String, each time: () -> Duration = { .seconds(2) }
    ) async throws {
        try await join(guest)
        try await waitForOnAir("mix", users: [host, guest])
        try await Task.sleep(for: time())
        try await leave(guest)
        try await waitForOnAir("bypass")
        try await Task.sleep(for: time())
    }
}
