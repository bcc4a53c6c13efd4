import Foundation

/// Files of layouts in the service's own directory.
extension Stage {
    /// Writes a layout's file, as an operator with an editor does.
    func save(layout text: String, as name: String) throws {
        try text.write(to: layouts.appendingPathComponent("\(name).json"), atomically: true, encoding: .utf8)
    }

    /// Suspends until the service has read a layout's file.
    func waitForLayout(_ name: String) async throws {
        try await waitUntil("the layout is read") {
            try await client.request("GET", "/v1/layouts/\(name)").status == 200
        }
    }
}
