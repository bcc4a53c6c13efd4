import Foundation
import Testing

/// The folders of a target depend on each other in one direction: no folder uses types of a folder that uses its own
/// types.
///
/// A folder is the first part of a file's path in its target; files at the target's root are the folder `.`. The check
/// compares names only. It does not see uses of a type that is not named, such as members of extensions, operators and
/// inferred types. A nested type, a generic parameter or a type of another module counts as a use of the top-level type
/// of the same name, unless the file itself declares the name.
struct FolderCirclesTests {
    /// Known circles, by target. Each entry contains all folders of one circle; remove a folder when it leaves.
    static let known: [String: Set<Set<String>>] = [:]

    @Test(arguments: ModuleEdgesTests.allowed.keys.sorted())
    func foldersUseEachOtherOneWay(target: String) throws {
        let root = ModuleEdgesTests.sources.appending(path: target)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        let graph = FolderGraph(
            try paths.sorted().map { ($0, try String(contentsOf: root.appending(path: $0), encoding: .utf8)) })
        let known = Self.known[target] ?? []
        for circle in graph.circles where !known.contains(circle) {
            Issue.record("\(target): \(circle.sorted()) use each other:\n\(graph.description(of: circle))")
        }
        for circle in known.subtracting(graph.circles) {
            Issue.record("\(target): \(circle.sorted()) is no circle any more: remove it from `known`, or what left it")
        }
    }

    @Test func circleIsFoundWithWhatCausesIt() {
        let graph = FolderGraph([
            ("Roof/House.swift", "struct House { var wall: Wall }\nprivate struct Brick {}"),
            ("Wall/Deep/Wall.swift", "final class Wall { struct Part {}; let text = \"\\(House().name)\" }"),
            ("Brick/Brick.swift", "enum Brick { case part(Part) }"),
            ("Main.swift", "let house = House()"),
        ])
        #expect(graph.circles == [["Roof", "Wall"]])
        #expect(
            graph.description(of: ["Roof", "Wall"])
                == "  Roof → Wall: House.swift uses Wall\n  Wall → Roof: Wall.swift uses House")
    }

    @Test func onlyNamesInCodeCount() {
        let names = SourceNames(
            ##"""
            // Comment /* "Quoted" */
            /* Block */
            let text = "Text \(Used(in: "Deep \(Deeper.self)")) \" Text" + #"Raw \(Raw) " \#(Hashed.self)"#
            public final class Box<Element>: Base { enum Nested {}; let size = Outside.Member.size }
            private struct Hidden {}
            struct Shown { class func make() -> Made { .Case } }
            """##)
        #expect(names.types == ["Box", "Shown"])
        #expect(names.declared == ["Box", "Hidden", "Nested", "Shown"])
        #expect(names.mentioned == ["Used", "Deeper", "Hashed", "Element", "Base", "Outside", "Made"])
    }
}

/// The folders of a target and their uses of each other's types.
struct FolderGraph {
    /// The uses behind each edge as "file uses type", by the using folder and the used folder.
    private var edges: [String: [String: [String]]] = [:]

    init(_ files: [(path: String, source: String)]) {
        let sources = files.map { (folder: Self.folder(of: $0.path), path: $0.path, names: SourceNames($0.source)) }
        var homes: [String: String] = [:]
        for source in sources {
            for type in source.names.types { homes[type] = source.folder }
        }
        for source in sources {
            for name in source.names.mentioned.subtracting(source.names.declared).sorted() {
                guard let home = homes[name], home != source.folder else { continue }
                let file = source.path.split(separator: "/").last ?? ""
                edges[source.folder, default: [:]][home, default: []].append("\(file) uses \(name)")
            }
        }
    }

    private static func folder(of path: String) -> String {
        let parts = path.split(separator: "/")
        return parts.count > 1 ? String(parts[0]) : "."
    }

    /// The largest sets of folders in which each uses every other, directly or indirectly.
    var circles: Set<Set<String>> {
        var reached: [String: Set<String>] = [:]
        for folder in edges.keys {
            var (found, open): (Set<String>, [String]) = ([], [folder])
            while let next = open.popLast() {
                for used in (edges[next] ?? [:]).keys where found.insert(used).inserted { open.append(used) }
            }
            reached[folder] = found
        }
        return Set(
            reached.filter { $1.contains($0) }.map { folder, found in
                found.filter { reached[$0]?.contains(folder) ?? false }
            })
    }

    /// Returns a line for every edge inside a circle.
    func description(of circle: Set<String>) -> String {
        circle.sorted().flatMap { folder in
            (edges[folder] ?? [:]).filter { circle.contains($0.key) }.sorted { $0.key < $1.key }.map { used, uses in
                "  \(folder) → \(used): \(uses.joined(separator: ", "))"
            }
        }.joined(separator: "\n")
    }
}
