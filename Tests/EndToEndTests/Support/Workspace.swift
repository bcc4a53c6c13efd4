import Foundation
import TestSupport

/// A test's own directory, and the locations of the package and its products.
enum Workspace {
    /// The package's root.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Folder of the executables, which is that of the test executable.
    static let products: URL = {
        let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(fileURLWithPath: path).deletingLastPathComponent()
    }()

    static func executable(_ name: String) throws -> String {
        let path = products.appendingPathComponent(name).path
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw EndToEndError("\(name) is not in \(products.path): build the whole package first")
        }
        return path
    }

    /// Creates a new directory with a short path, since Unix sockets lie in it.
    static func makeDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("mix-\(UInt32.random(in: 0...UInt32.max))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }
}

/// The reason that an end-to-end test could not continue.
struct EndToEndError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Deadline in seconds for conditions in tests that are not about time. With a debug build on two cores and other load,
/// the service gives a program up and starts it again after longer and longer waits: four attempts take 75 s.
let patience = 120.0

/// Suspends until `condition` holds.
///
/// - Parameter seconds: The deadline, after which it throws an error that names `what`.
func waitUntil(
    _ what: @autoclosure () -> String, within seconds: Double = patience, every milliseconds: Int = 50,
    _ condition: () async throws -> Bool
) async throws {
    let found = try await poll(within: .seconds(seconds), every: .milliseconds(milliseconds)) {
        try await condition() ? true : nil
    }
    if found == nil { throw EndToEndError("\(what()): not within \(seconds) s") }
}
