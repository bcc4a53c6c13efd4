import Foundation
import MixModel
import NIOPosix

/// Where packagers put what viewers get. Names from URLs become paths only here. What is `async` looks at the disk, on a
/// thread that may wait; the rest that does is for such threads.
struct HLSFiles: Sendable {
    /// Absolute.
    let directory: String

    /// Names that packagers give: letters, digits and dashes before one of these.
    enum Kind: String, CaseIterable, Sendable {
        case playlist = "m3u8"
        case segment = "ts"
    }

    /// A file of a session.
    struct Item: Hashable, Sendable {
        var path: String
        var session: String
        var name: String
        var kind: Kind
    }

    /// What of `session.json` matters here.
    struct Session: Decodable {
        struct Settings: Decodable { var enableVOD: Bool }
        var isEnded: Bool
        var settings: Settings
    }

    static let master = "index.m3u8"

    func directory(of room: RoomID) -> String {
        "\(directory)/\(FileName.safe(room.app.rawValue))/\(FileName.safe(room.name))"
    }

    /// `nil` where no packager would have made such a name.
    func item(_ room: RoomID, session: String, file: String) -> Item? {
        guard Self.isSession(session), let kind = Self.kind(of: file) else { return nil }
        return Item(path: "\(directory(of: room))/\(session)/\(file)", session: session, name: file, kind: kind)
    }

    /// The master playlist of the newest session that has one.
    func master(of room: RoomID) async throws -> Item? {
        try await NIOThreadPool.singleton.runIfActive {
            Self.sessions(in: directory(of: room)).lazy
                .compactMap { item(room, session: $0, file: Self.master) }
                .first { access($0.path, R_OK) == 0 }
        }
    }

    /// Newest first.
    static func sessions(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter(isSession).sorted { Int64($0) ?? 0 > Int64($1) ?? 0 }
    }

    /// `nil` where there is no such session.
    func facts(_ room: RoomID, session: String) async throws -> Session? {
        guard Self.isSession(session) else { return nil }
        return try await NIOThreadPool.singleton.runIfActive { Self.facts("\(directory(of: room))/\(session)") }
    }

    static func facts(_ directory: String) -> Session? {
        FileManager.default.contents(atPath: "\(directory)/session.json").flatMap {
            try? JSONDecoder().decode(Session.self, from: $0)
        }
    }

    static func isSession(_ name: String) -> Bool {
        1...18 ~= name.utf8.count && name.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    static func kind(of file: String) -> Kind? {
        let parts = file.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, 1...64 ~= parts[0].utf8.count,
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D })
        else { return nil }
        return Kind(rawValue: String(parts[1]))
    }
}
