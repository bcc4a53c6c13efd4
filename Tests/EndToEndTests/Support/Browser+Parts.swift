import Foundation

extension Browser {
    /// The result of the tests of a page's scripts.
    struct Outcome: Decodable {
        var passed: Int
        var failed: [String]
        var seed: Int
    }

    /// Runs the tests of scripts that need no service.
    ///
    /// - Parameter path: A module below the repository that exports `run()`, which returns an outcome or a promise of
    ///   one.
    static func runParts(of path: String) async throws -> Outcome {
        let directory = try Workspace.makeDirectory()
        let file = directory.appendingPathComponent("page.html")
        let html = """
            <!doctype html><script type="module">
            import { run } from "\(Workspace.root.appendingPathComponent(path).absoluteString)";
            console.log("PARTS " + JSON.stringify(await run()));
            </script>
            """
        try html.write(to: file, atomically: true, encoding: .utf8)
        let process = try Browser(directory: directory).open(file.absoluteString)
        func outcome() -> Outcome? { (logged("PARTS ", by: process) as [Outcome]).last }
        try await waitUntil("the tests have run\n\(process.messages())") { outcome() != nil || !process.isRunning }
        await process.stop()
        guard let outcome = outcome() else { throw EndToEndError("\(path) said nothing: \(process.messages())") }
        try FileManager.default.removeItem(at: directory)
        return outcome
    }
}
