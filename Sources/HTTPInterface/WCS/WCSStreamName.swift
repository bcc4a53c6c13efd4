import EventSubscription
import MixModel

/// Names of streams: `user#room`, and `user#room#desktop` for a screen, as in Web Call Server's conferences.
enum WCSStreamName {
    static let patterns = ["{user}#{room}#{stream}", "{user}#{room}"]

    /// Returns the stream that a name stands for.
    static func read(_ name: String, by patterns: NamePatterns, app: AppID) -> Result<
        StreamNames, NamePatterns.Unmatched
    > {
        let desktop = "#desktop"
        let plain =
            name.utf8.reversed().starts(with: desktop.utf8.reversed())
            ? String(decoding: name.utf8.dropLast(desktop.utf8.count), as: UTF8.self) + "#screen" : name
        return patterns.names(of: MediaServerStream(app: "", name: plain)).map { names in
            var names = names
            if names.room.app == .standard { names.room = RoomID(app: app, name: names.room.name) }
            return names
        }
    }

    /// Returns the name of a stream.
    static func text(_ names: StreamNames) -> String {
        let name = "\(names.user.rawValue)#\(names.room.name)"
        return switch names.stream {
        case .camera: name
        case .screen: name + "#desktop"
        default: name + "#\(names.stream.rawValue)"
        }
    }
}
