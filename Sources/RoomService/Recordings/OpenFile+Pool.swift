import NIOPosix

/// Reading on threads outside the cooperative pool.
extension OpenFile {
    /// Opens a file: what it has now can be read even if its name is removed meanwhile.
    ///
    /// - Returns: `nil` if there is no regular file. Links are not followed.
    /// - Throws: An error if the process is about to end.
    package static func opened(_ path: String) async throws -> OpenFile? {
        try await NIOThreadPool.singleton.runIfActive { OpenFile(path) }
    }

    /// Reads bytes.
    ///
    /// - Throws: `UploadReadFailure` if they are not all there any more.
    package func bytes(_ range: Range<Int64>) async throws -> [UInt8] {
        try await NIOThreadPool.singleton.runIfActive { [self] in try read(range) }
    }
}
