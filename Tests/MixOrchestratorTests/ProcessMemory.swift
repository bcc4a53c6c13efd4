import Foundation

/// The memory of this process.
enum ProcessMemory {
    /// Resident memory, in bytes.
    static var resident: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
            * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}
