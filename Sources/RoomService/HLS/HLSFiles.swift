import Foundation
import MixModel
import NIOPosix

/// The files that packagers write for viewers. Only this type turns names from URLs into paths.
///
/// Asynchronous functions access the disk on a thread that may block. Call other functions that access the disk on such
/// a thread only.
package struct HLSFiles: Sendable {
    /// Absolute path of the directory of all rooms.
    package let directory: String

    package init(directory: String) {
        self.directory = directory
    }

    /// The kinds of files, by the extension that packagers use. The name before it has lower-case letters, digits and
    /// dashes.
    package enum Kind: String, CaseIterable, Sendable {
        case playlist = "m3u8"
        case segment = "ts"
    }

    /// A file of a session.
    package struct Item: Hashable, Sendable {
        package var path: String
        package var session: String
        package var name: String
        package var kind: Kind
    }

    /// The fields of `session.json` that the service uses.
    package struct Session: Decodable {
        package struct Settings: Decodable { package var enableVOD: Bool }
        package var isEnded: Bool
        package var settings: Settings
    }

    package static let master = "index.m3u8"

    package func directory(of room: RoomID) -> String {
        HLSPlace(directory: directory).directory(of: room)
    }

    /// Returns a file of a session, or `nil` if no packager would use such a name.
    package func item(_ room: RoomID, session: String, file: String) -> Item? {
        guard Self.isSession(session), let kind = Self.kind(of: file) else { return nil }
        return Item(path: "\(directory(of: room))/\(session)/\(file)", session: session, name: file, kind: kind)
    }

    /// Returns the master playlist of the newest session that has one.
    package func master(of room: RoomID) async throws -> Item? {
        try await NIOThreadPool.singleton.runIfActive {
            Self.sessions(in: directory(of: room)).lazy
                .compactMap { item(room, session: $0, file: Self.master) }
                .first { access($0.path, R_OK) == 0 }
        }
    }

    /// Returns the sessions in a room's directory, newest first.
    static func sessions(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter(isSession).sorted { Int64($0) ?? 0 > Int64($1) ?? 0 }
    }

    /// Returns the description of a session, or `nil` if the session does not exist.
    package func facts(_ room: RoomID, session: String) async throws -> Session? {
        guard Self.isSession(session) else { return nil }
        return try await NIOThreadPool.singleton.runIfActive { Self.facts("\(directory(of: room))/\(session)") }
    }

    package static func facts(_ directory: String) -> Session? {
        FileManager.default.contents(atPath: "\(directory)/session.json").flatMap {
            try? JSONDecoder().decode(Session.self, from: $0)
        }
    }

    package static func isSession(_ name: String) -> Bool {
        1...18 ~= name.utf8.count && name.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    package static func kind(of file: String) -> Kind? {
        let parts = file.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, 1...64 ~= parts[0].utf8.count,
            parts[0].utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D })
        else { return nil }
        return Kind(rawValue: String(parts[1]))
    }
}
