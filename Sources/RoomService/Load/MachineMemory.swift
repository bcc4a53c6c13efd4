import Foundation

/// The memory of the machine.
enum MachineMemory {
    /// Returns the memory that processes can still allocate without swapping, in MiB; `nil` if the system does not
    /// report it.
    static func free(file: String = "/proc/meminfo") -> Int? {
        guard let text = FileManager.default.contents(atPath: file).map({ String(decoding: $0, as: UTF8.self) }) else {
            return nil
        }
        let line = text.split(separator: "\n").first { $0.hasPrefix("MemAvailable:") }
        let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return kilobytes.map { $0 >> 10 }
    }
}
