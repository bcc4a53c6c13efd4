import CEmbeddedFiles

/// Files of the repository that are in the binary.
enum EmbeddedFiles {
    /// Returns the bytes of openapi.yaml, as they were when the program was built.
    static var openAPI: [UInt8] {
        var count = 0
        let bytes = embedded_openapi(&count)
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }
}
