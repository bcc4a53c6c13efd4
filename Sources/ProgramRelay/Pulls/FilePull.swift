import EncodedMedia

/// A file below `media.directory`, played at its own rate and repeated when it ends.
package enum FilePull: WorkerPullKind {
    package static let name = "file"
    package static let summary =
        "any file that GStreamer decodes, below `media.directory`, looped: `file://localhost/clip.mp4`; `?loop=no` ends it"
    package static let schemes = [PullScheme("file")]
    package static let elements = PullTail.elements

    package static func usesNetwork(_ address: PullAddress) -> Bool { false }

    package static func head(for address: PullAddress, latency: MediaTime) throws(PullEnd) -> PullHead {
        let path = try path(of: address)
        let options = try address.options(["loop"])
        guard ["yes", "no"].contains(options["loop"] ?? "yes") else {
            throw PullEnd(.badURL, "loop in the URL must be yes or no")
        }
        return PullHead(
            description: "filesrc name=source ! \(PullTail.decoder("all"))",
            isLive: false, isLooped: options["loop"] != "no", file: path)
    }

    /// Returns the path of a file relative to the media directory.
    static func path(of address: PullAddress) throws(PullEnd) -> String {
        guard address.isLocalhost, address.port == nil else {
            throw PullEnd(.badURL, "a file has the host localhost and no port: file://localhost/clip.mp4")
        }
        let path = String(address.path.dropFirst())
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !path.isEmpty, !path.utf8.contains(0), parts.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." })
        else { throw PullEnd(.badURL, "the path must be relative to media.directory, without . and ..") }
        return path
    }
}
