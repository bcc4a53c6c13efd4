@testable import ViewerProbe

extension ProbeRecorder {
    /// Returns when this many more pictures have arrived, however long the machine takes, so that the result does not
    /// depend on its speed.
    func receive(pictures count: Int) async throws {
        let before = progress.videoTags
        try await waitUntil("\(count) more pictures arrive: \(progress), \(before) before") {
            progress.videoTags >= before + count
        }
    }
}
