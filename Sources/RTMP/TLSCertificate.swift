import EncodedMedia
import Foundation

/// A server's certificate, with its chain, and its key, from PEM files that are read again when they change.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there.
package final class TLSCertificate: @unchecked Sendable {
    /// The reason why the files cannot be used, with the file's name.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Time in ns between two checks of the files.
    private static let interval: Int64 = 1_000_000_000

    private let certificate: String
    private let key: String
    private let onChange: (Failure?) -> Void
    private let loop = SocketLoop.shared
    /// The context for new connections; existing connections keep theirs.
    package private(set) var context: TLSContext
    private var marks: [FileMark]
    private var lookAt: Int64

    /// A version of a file.
    private struct FileMark: Hashable, Sendable {
        let inode: UInt64
        let size: Int64
        let seconds: Int
        let nanoseconds: Int

        init?(_ path: String) {
            var info = stat()
            guard stat(path, &info) == 0 else { return nil }
            inode = UInt64(info.st_ino)
            size = Int64(info.st_size)
            (seconds, nanoseconds) = (info.st_mtim.tv_sec, info.st_mtim.tv_nsec)
        }
    }

    /// Reads the files.
    ///
    /// - Parameter onChange: Called on the loop when changed files come into use, or when they cannot be used and the
    ///   former ones stay in use.
    package init(certificate: String, key: String, onChange: @escaping (Failure?) -> Void) throws(Failure) {
        self.certificate = certificate
        self.key = key
        self.onChange = onChange
        marks = Self.marks(certificate, key)
        context = try Self.read(certificate, key)
        lookAt = MonotonicClock.now() + Self.interval
    }

    /// Checks the files, unless they were checked a moment ago, and reads them off the loop if they have changed.
    package func refresh() {
        let now = MonotonicClock.now()
        guard now >= lookAt else { return }
        lookAt = now + Self.interval
        DispatchQueue.global().async { [weak self, certificate, key, marks, loop] in
            let new = Self.marks(certificate, key)
            guard new != marks else { return }
            let result = Result { () throws(Failure) in try Self.read(certificate, key) }
            loop.perform { [weak self] in self?.take(result, new) }
        }
    }

    private func take(_ result: Result<TLSContext, Failure>, _ new: [FileMark]) {
        guard new != marks else { return }
        marks = new
        switch result {
        case .success(let context):
            self.context = context
            onChange(nil)
        case .failure(let failure): onChange(failure)
        }
    }

    private static func marks(_ certificate: String, _ key: String) -> [FileMark] {
        [certificate, key].compactMap { FileMark($0) }
    }

    private static func read(_ certificate: String, _ key: String) throws(Failure) -> TLSContext {
        for path in [certificate, key] where access(path, R_OK) != 0 {
            throw Failure(description: "\(path): \(String(cString: strerror(errno)))")
        }
        let context = TLSContext(certificate: certificate, key: key)
        if let fault = context.fault { throw Failure(description: "\(certificate), \(key): \(fault)") }
        return context
    }
}
