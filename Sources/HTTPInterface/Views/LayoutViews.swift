import Foundation
import LayoutEngine
import MixModel
import RoomService
import TaskStore

/// A layout as the API shows it.
struct LayoutView: Encodable {
    enum State: String, Encodable {
        case good
        /// The file cannot be used; `version` stays in use.
        case broken
        /// The file is gone; rooms keep `version`.
        case deleted
        /// Part of this program.
        case builtIn
    }
    struct Problem: Encodable {
        var message: String
        /// All errors of the file.
        var issues: [LayoutIssue]
    }

    var name: String
    var summary: String?
    var state: State
    /// The version in use. Absent if there has never been a valid one.
    var version: Int?
    var changedAt: Date?
    var origin: LayoutVersion.Origin?
    var problem: Problem?
    /// The first of the caller's rooms that use the layout, ordered by name. At most `mostRooms`.
    var rooms: [String]
    /// Whether more rooms use the layout than are listed.
    var moreRooms: Bool?
    /// The images that the layout names. Present only in the answer for a single layout.
    var images: [ImageStore.Status]?

    static let mostRooms = 100

    /// - Parameter rooms: The rooms that use the layout: at most one more than `mostRooms`, which shows that there are
    ///   more.
    init(_ name: String, _ entry: LayoutCatalogue.Entry?, rooms: [RoomID]) {
        self.name = name
        let good = entry?.good
        summary = entry == nil ? LayoutLibrary.automatic.summary : good?.template.summary
        state =
            if let entry { entry.isDeleted ? .deleted : entry.problem == nil ? .good : .broken } else { .builtIn }
        version = good?.version.number
        changedAt = good.map { Date(timeIntervalSince1970: $0.version.at) }
        origin = good?.version.origin
        problem = entry?.problem.map { Problem(message: $0.description, issues: $0.issues) }
        self.rooms = rooms.prefix(Self.mostRooms).map(\.name)
        moreRooms = rooms.count > Self.mostRooms ? true : nil
    }
}

/// One version of a layout as the API shows it.
struct LayoutVersionView: Encodable {
    var version: Int
    var at: Date
    var origin: LayoutVersion.Origin
    /// Length of the file, in bytes.
    var bytes: Int
    var inUse: Bool

    init(_ version: LayoutVersion, inUse: Int?) {
        self.version = version.number
        at = Date(timeIntervalSince1970: version.at)
        origin = version.origin
        bytes = version.length
        self.inUse = version.number == inUse
    }
}

struct LayoutEventView: Encodable {
    var at: Date
    var kind: LayoutEvent.Kind
    var version: Int?
    var message: String

    init(_ event: LayoutEvent) {
        at = Date(timeIntervalSince1970: event.at)
        kind = event.kind
        version = event.version
        message = event.message
    }
}

extension LayoutLibrary {
    /// The built-in layout in the form of a file.
    static let automaticFile = """
        {
            "description": "Everybody, with names, on a full canvas; a shared screen is whole and large.",
            "canvas": { "background": { "from": "#24305E", "to": "#0B0E17", "angle": 150 } },
            "gap": 0.016,
            "margin": 0.016,
            "screenFit": "contain",
            "radius": 0.022,
            "shadow": { "blur": 0.02, "offset": 0.004, "opacity": 0.5 },
            "speaking": {},
            "card": "gradient",
            "label": { "style": "pill", "size": 0.026, "background": "#0B0E17", "backgroundOpacity": 0.66, "muted": true },
            "transition": { "duration": 300, "easing": "ease-in-out" },
            "arrangements": [
                { "when": { "people": { "max": 1 } }, "algorithm": "solo", "margin": 0, "label": false },
                {
                    "when": { "screen": true, "canvas": "landscape" },
                    "panes": [
                        {
                            "stream": "screen", "x": 0.009, "y": 0.016, "width": 0.775, "height": 0.968,
                            "label": false, "speaking": false
                        }
                    ],
                    "rest": {
                        "x": 0.793, "y": 0.016, "width": 0.198, "height": 0.968, "algorithm": "grid", "tileAspect": "4:3"
                    }
                },
                {
                    "when": { "screen": true, "canvas": "portrait" },
                    "panes": [
                        {
                            "stream": "screen", "x": 0.016, "y": 0.009, "width": 0.968, "height": 0.5,
                            "label": false, "speaking": false
                        }
                    ],
                    "rest": { "x": 0.016, "y": 0.518, "width": 0.968, "height": 0.473, "algorithm": "grid" }
                },
                {
                    "when": { "screen": true },
                    "panes": [
                        {
                            "stream": "screen", "x": 0.016, "y": 0.016, "width": 0.968, "height": 0.6,
                            "label": false, "speaking": false
                        }
                    ],
                    "rest": { "x": 0.016, "y": 0.632, "width": 0.968, "height": 0.352, "algorithm": "grid" }
                },
                { "algorithm": "mosaic" }
            ]
        }

        """
}
