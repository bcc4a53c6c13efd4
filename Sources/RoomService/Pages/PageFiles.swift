import MixModel

/// The files of pages: `pages/` in the data directory.
package typealias PageFiles = WorkerFiles<PageRecord>

extension PageFiles {
    private static let folder = "pages"

    /// Returns whether an earlier run has left files.
    static func exist(in data: String) -> Bool { exist(in: data, name: folder) }

    /// - Throws: `StartupError` if the directory cannot be created, or its path is too long for sockets.
    package init(data: String) throws(StartupError) {
        try self.init(data: data, name: Self.folder, longestRecord: 256 << 10)
    }
}

/// The record of a page for a later run of the service.
package struct PageRecord: Hashable, Codable, Sendable {
    /// The text of its `IngestStreamKey`.
    var stream: String
    var job: PageJob
}
