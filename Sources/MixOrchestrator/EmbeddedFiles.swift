import CEmbeddedFiles

/// Files of the repository that are in the binary, as they were when the program was built.
enum EmbeddedFiles {
    /// Bytes of openapi.yaml.
    static var openAPI: [UInt8] { bytes(embedded_openapi) }
    /// Bytes of pages/publish.html.
    static var publishPage: [UInt8] { bytes(embedded_publish_page) }
    /// Bytes of pages/watch.html.
    static var watchPage: [UInt8] { bytes(embedded_watch_page) }

    private static func bytes(_ file: (UnsafeMutablePointer<Int>) -> UnsafePointer<UInt8>) -> [UInt8] {
        var count = 0
        let bytes = file(&count)
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
