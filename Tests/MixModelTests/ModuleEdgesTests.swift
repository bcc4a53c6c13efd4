import Foundation
import Testing

/// Modules may depend on each other only along the arrows of docs/architecture.md. The table lists the modules that
/// each module may import, which are those that it does import. Imports are read from the sources, so that an import
/// which the manifest happens to allow is found too. The manifest and the document are compared with the table.
struct ModuleEdgesTests {
    /// The project's modules that each module may import.
    static let allowed: [String: Set<String>] = [
        "CContainment": [],
        "CEmbeddedFiles": [],
        "CEpoll": [],
        "CFontconfig": [],
        "CForkServer": [],
        "CGStreamer": [],
        "CLibPQ": [],
        "COpenSSL": [],
        "CZlib": [],
        "TextFormats": [],
        "ChildProcesses": [],
        "ForkServer": ["CForkServer", "ChildProcesses"],
        "ProcessContainment": ["CContainment"],
        "EncodedMedia": [],
        "LayoutEngine": ["TextFormats"],
        "SocketIO": ["TextFormats"],
        "MediaFormats": ["EncodedMedia", "TextFormats"],
        "MixModel": ["EncodedMedia", "LayoutEngine", "TextFormats"],
        "ProgramSplicer": ["EncodedMedia", "LayoutEngine", "MediaFormats", "MixModel"],
        "EventSubscription": ["LayoutEngine", "MixModel", "TextFormats"],
        "RoomChannel": ["EncodedMedia", "MixModel"],
        "ObjectStorage": ["TextFormats"],
        "TaskStore": ["MixModel", "TextFormats"],
        "PostgreSQLStore": ["CLibPQ", "MixModel", "TaskStore", "TextFormats"],
        "GStreamerKit": ["CGStreamer", "EncodedMedia", "MediaFormats", "TextFormats"],
        "RTMP": ["CEpoll", "COpenSSL", "ChildProcesses", "EncodedMedia", "MediaFormats", "TextFormats"],
        "ProgramMixer": [
            "CFontconfig", "EncodedMedia", "GStreamerKit", "LayoutEngine", "MediaFormats", "MixModel", "ProgramSplicer",
            "TextFormats",
        ],
        "ViewerProbe": ["ChildProcesses", "EncodedMedia", "LayoutEngine", "MediaFormats", "MixModel"],
        "ProgramRelay": [
            "ChildProcesses", "EncodedMedia", "ForkServer", "GStreamerKit", "LayoutEngine", "MediaFormats", "MixModel",
            "ProgramSplicer", "RTMP", "TextFormats",
        ],
        "StreamIngest": ["EncodedMedia", "MediaFormats", "MixModel", "RTMP", "TextFormats"],
        "WebRTCGateway": ["EncodedMedia", "GStreamerKit", "MediaFormats", "MixModel", "RTMP", "TextFormats"],
        "PageCapture": [
            "ChildProcesses", "EncodedMedia", "GStreamerKit", "MediaFormats", "MixModel", "RTMP", "TextFormats",
            "WebRTCGateway",
        ],
        "MixWorker": [
            "ChildProcesses", "EncodedMedia", "ForkServer", "GStreamerKit", "LayoutEngine", "MediaFormats", "MixModel",
            "PageCapture", "ProcessContainment", "ProgramMixer", "ProgramRelay", "StreamIngest", "ViewerProbe",
            "WebRTCGateway",
        ],
        "RoomService": [
            "ChildProcesses", "EncodedMedia", "EventSubscription", "LayoutEngine", "MediaFormats", "MixModel",
            "ObjectStorage", "RoomChannel", "TaskStore", "TextFormats",
        ],
        "HTTPInterface": [
            "CZlib", "EncodedMedia", "EventSubscription", "LayoutEngine", "MediaFormats", "MixModel", "RoomChannel",
            "RoomService", "SocketIO", "TaskStore", "TextFormats",
        ],
        "MixOrchestrator": [
            "CEmbeddedFiles", "ChildProcesses", "EventSubscription", "HTTPInterface", "LayoutEngine", "MixModel",
            "ObjectStorage", "PostgreSQLStore", "RoomChannel", "RoomService", "TaskStore", "TextFormats",
        ],
    ]

    /// Modules from outside the project that only these modules may import.
    static let keepers: [String: Set<String>] = [
        "GRDB": ["TaskStore"],
        "Hummingbird": ["HTTPInterface", "MixOrchestrator"],
        "AsyncHTTPClient": ["RoomService"],
        "Configuration": ["MixOrchestrator"],
        "ArgumentParser": ["MixWorker", "MixOrchestrator"],
    ]

    /// C modules for which only some files of another module are permitted: those whose paths begin with these texts.
    static let doors = [
        "CEpoll": "RTMP/SocketPoller", "CFontconfig": "ProgramMixer/FontCoverage", "CLibPQ": "PostgreSQLStore/",
        "COpenSSL": "RTMP/TLS", "CZlib": "HTTPInterface/Requests/Gzip",
    ]

    /// Modules without C or network. They may import these modules besides the project's own.
    static let pure: Set<String> = [
        "ChildProcesses", "EncodedMedia", "LayoutEngine", "MediaFormats", "MixModel", "ProgramSplicer", "RoomChannel",
        "SocketIO",
        "TextFormats",
    ]
    static let harmless: Set<String> = ["Foundation", "FoundationEssentials", "Synchronization"]

    static let sources = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Sources").standardizedFileURL

    /// Returns the modules imported by a source, without attributes and kinds (`import struct X.Y`).
    static func imports(of source: String) -> Set<String> {
        var modules: Set<String> = []
        for line in source.split(separator: "\n") {
            var words = line.split { $0 == " " || $0 == "\t" }[...]
            let prefixes: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
            while let first = words.first, first.hasPrefix("@") || prefixes.contains(first) { words.removeFirst() }
            guard words.popFirst() == "import" else { continue }
            let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
            if let kind = words.first, kinds.contains(kind) { words.removeFirst() }
            if let name = words.first?.prefix(while: { $0 != "." && $0 != ";" }) { modules.insert(String(name)) }
        }
        return modules
    }

    static func imports(ofModule module: String) throws -> [(file: String, modules: Set<String>)] {
        let folder = sources.appending(path: module)
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        return try files.sorted().map { file in
            let text = try String(contentsOf: folder.appending(path: file), encoding: .utf8)
            return ("\(module)/\(file)", imports(of: text))
        }
    }

    @Test func tableNamesEveryModule() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.sources.path)
            .filter { !$0.hasPrefix(".") }
        #expect(Set(folders) == Set(Self.allowed.keys))
    }

    @Test(arguments: allowed.keys.sorted())
    func moduleImportsOnlyWhatItMay(module: String) throws {
        let allowed = try #require(Self.allowed[module])
        for (file, modules) in try Self.imports(ofModule: module) {
            let own = modules.intersection(Self.allowed.keys).subtracting([module])
            #expect(own.subtracting(allowed).isEmpty, "\(file)")
            for (kept, keepers) in Self.keepers where modules.contains(kept) {
                #expect(keepers.contains(module), "\(file) imports \(kept)")
            }
            for (kept, door) in Self.doors where modules.contains(kept) {
                #expect(file.hasPrefix(door), "\(file) imports \(kept)")
            }
            if Self.pure.contains(module) {
                #expect(modules.subtracting(own).subtracting(Self.harmless).isEmpty, "\(file) is of a pure module")
            }
        }
    }

    @Test func importsAreFoundHoweverTheyAreWritten() {
        let source = """
            // import Comment
            @preconcurrency import A
            public import B
            @testable internal import struct C.Member
              import D;
            let important = "import E"
            import protocol F.G.H
            """
        #expect(Self.imports(of: source) == ["A", "B", "C", "D", "F"])
    }

    @Test func arrowsPointOneWay() {
        func reach(_ module: String, _ path: [String]) -> [String]? {
            if path.contains(module) { return path + [module] }
            for next in (Self.allowed[module] ?? []).sorted() {
                if let cycle = reach(next, path + [module]) { return cycle }
            }
            return nil
        }
        for module in Self.allowed.keys.sorted() { #expect(reach(module, []) == nil) }
        // The control plane does not depend on the media plane.
        for module in ["RoomService", "HTTPInterface", "MixOrchestrator"] {
            #expect(
                Self.allowed[module]?.isDisjoint(with: [
                    "CGStreamer", "COpenSSL", "GStreamerKit", "ProgramRelay", "RTMP",
                ])
                    == true)
        }
    }
}
