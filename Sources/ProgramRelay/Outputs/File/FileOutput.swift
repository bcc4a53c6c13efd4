import Foundation
import MixModel
import RTMP

/// Files: the program as MPEG-TS or FLV, its packets copied, written by a process of its own below `outputs.directory`.
enum FileOutput: ProcessOutputKind {
    static let name = "file"
    static let scheme = "file://"

    static func takes(_ plan: PushDestination) -> Bool { plan.url.lowercased().hasPrefix(scheme) }

    static func connection(
        _ url: String, _ limits: Destination.Limits?, worker: URL, onKeyframeWanted: @escaping @Sendable () -> Void
    ) throws(PullEnd) -> PushConnection {
        _ = try OutputFileName(url)
        return PushConnection(worker: worker, arguments: ["push", "--file"], isToldOfConnection: false) {
            PushSettings(url: url)
        }
    }
}

/// The name of a file to which a program is written.
struct OutputFileName: Hashable, Sendable {
    enum Format: String, CaseIterable, Sendable {
        case ts, flv
    }

    /// Name without its extension.
    let stem: String
    let format: Format

    /// - Throws: `PullEnd` of kind `.badURL` if it is not a file URL.
    init(_ url: String) throws(PullEnd) {
        let address = try PullAddress(url)
        guard address.scheme == "file", address.isLocalhost, address.port == nil, address.parameters.isEmpty else {
            throw PullEnd(.badURL, "a file has the host localhost and no port: file://localhost/show.ts")
        }
        let name = address.path.dropFirst()
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex, name.first != ".", name.utf8.count <= 200,
            !name.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") }),
            let format = Format(rawValue: String(name[name.index(after: dot)...]))
        else { throw PullEnd(.badURL, "a file is a name that ends with .ts or .flv, without directories") }
        stem = String(name[..<dot])
        self.format = format
    }

    /// Returns the name of the file for attempt `number`, counted from 1.
    func name(_ number: Int) -> String { number == 1 ? "\(stem).\(format)" : "\(stem)-\(number).\(format)" }
}
