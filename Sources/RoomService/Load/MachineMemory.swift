import Foundation

/// The memory of the machine, as in `/proc/meminfo` (proc_meminfo(5)).
package enum MachineMemory {
    package static let path = "/proc/meminfo"

    /// Returns the memory that processes can still allocate without swapping, in MiB; `nil` if the system does not
    /// report it.
    static func free(file: String = path) -> Int? {
        guard let text = FileManager.default.contents(atPath: file).map({ String(decoding: $0, as: UTF8.self) }) else {
            return nil
        }
        return value(of: "MemAvailable", in: text).map { Int($0) >> 10 }
    }

    /// Returns all memory, and what processes can still allocate without swapping, in kB; `nil` if the text does not
    /// say it.
    static func kilobytes(_ text: String) -> (total: Double, free: Double)? {
        guard let total = value(of: "MemTotal", in: text), let free = value(of: "MemAvailable", in: text) else {
            return nil
        }
        return (total, free)
    }

    private static func value(of name: String, in text: String) -> Double? {
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        let number = line?.split(separator: " ").dropFirst().first.flatMap { Int64($0) }
        return number.map { Double($0) }
    }
}
