import Foundation
import ProgramSplicer
import TextFormats

/// The file next to a relay's socket that outlives a killed relay: its program's anchor.
///
/// A relay that ends normally removes it. Its functions block on the disk.
struct AnchorFile: Sendable {
    let path: String

    /// Length of the file in bytes. It is written in place with one call, so that a reader always finds a complete
    /// anchor.
    private static let length = 512

    /// Returns the anchor; `nil` if there is no readable one.
    func read() -> ProgramAnchor? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: Self.length)
        let count = Foundation.read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return try? JSONDecoder().decode(ProgramAnchor.self, from: Data(bytes.prefix(count)))
    }

    /// Writes the anchor. After a failure, a successor merely begins at 0.
    func write(_ anchor: ProgramAnchor) {
        guard var bytes = (try? JSONEncoder().encode(anchor)).map(Array.init), bytes.count <= Self.length else {
            return
        }
        bytes += [UInt8](repeating: 0x20, count: Self.length - bytes.count)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = pwrite(descriptor, bytes, bytes.count, 0)
    }

    func remove() { unlink(path) }

    /// Identifier of the machine's run (random(4)); empty if the kernel does not provide it.
    static var boot: String {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return String(text?.prefix(36) ?? "")
    }
}
