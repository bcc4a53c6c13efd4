import Foundation
import Testing

/// The manifest and the document say the same as the table.
extension ModuleEdgesTests {
    private static let root = sources.deletingLastPathComponent()

    /// Returns the modules of this project on which each target of a manifest depends itself.
    private static func dependencies(in manifest: String) -> [String: Set<String>] {
        let target = /\.(?:executableTarget|target|systemLibrary)\(\s*name: "(\w+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        var dependencies: [String: Set<String>] = [:]
        for match in manifest.matches(of: target) {
            let names = (match.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) }
            dependencies[String(match.1)] = Set(names).intersection(allowed.keys)
        }
        return dependencies
    }

    /// Returns all modules to which edges lead from a module, directly or through others.
    private static func reached(from module: String, along edges: [String: Set<String>]) -> Set<String> {
        var (found, open): (Set<String>, [String]) = ([], [module])
        while let next = open.popLast() {
            for module in edges[next] ?? [] where found.insert(module).inserted { open.append(module) }
        }
        return found
    }

    /// The table as the document shows it: a module comes after those that it imports.
    private static var arrows: String {
        let importers = allowed.filter { !$0.value.isEmpty }.keys.sorted { first, second in
            (reached(from: first, along: allowed).count, first) < (reached(from: second, along: allowed).count, second)
        }
        let width = (importers.map(\.count).max() ?? 0) + 1
        return importers.map { module in
            let names = (allowed[module] ?? []).sorted()
            var line = module.padding(toLength: width, withPad: " ", startingAt: 0) + "→"
            var lines = ""
            for (index, name) in names.enumerated() {
                let word = " " + name + (index + 1 < names.count ? "," : "")
                if line.count + word.count > 120 {
                    lines += line + "\n"
                    line = String(repeating: " ", count: width + 1)
                }
                line += word
            }
            return lines + line + "\n"
        }.joined()
    }

    /// A target that depends on a module without importing it waits for that module's build.
    @Test func theManifestHasTheEdgesOfTheTable() throws {
        let manifest = Self.dependencies(
            in: try String(contentsOf: Self.root.appending(path: "Package.swift"), encoding: .utf8))
        for (module, allowed) in Self.allowed.sorted(by: { $0.key < $1.key }) {
            let direct = try #require(manifest[module], "\(module) is not in Package.swift")
            #expect(direct.subtracting(allowed).sorted() == [], "\(module) may not import them")
            let reached = Self.reached(from: module, along: manifest)
            #expect(allowed.subtracting(reached).sorted() == [], "\(module) cannot import them")
        }
    }

    @Test func targetsAreFoundHoweverTheyAreWritten() {
        let manifest = """
            .target(name: "EncodedMedia", swiftSettings: strict),
            .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
            .executableTarget(
                name: "MixWorker",
                dependencies: [
                    "ProgramMixer", "ProgramRelay",
                    .product(name: "Logging", package: "swift-log"),
                ],
                swiftSettings: strict),
            .testTarget(name: "RTMP", dependencies: ["TextFormats"]),
            """
        #expect(
            Self.dependencies(in: manifest)
                == ["EncodedMedia": [], "CZlib": [], "MixWorker": ["ProgramMixer", "ProgramRelay"]])
    }

    /// An edge that no file uses would let a later import pass without a decision.
    @Test(arguments: ModuleEdgesTests.allowed.keys.sorted())
    func everyEdgeIsUsed(module: String) throws {
        let used = try Self.imports(ofModule: module).reduce(into: Set<String>()) { $0.formUnion($1.modules) }
        #expect((Self.allowed[module] ?? []).subtracting(used).sorted() == [])
    }

    /// `UPDATE_GOLDEN=1` writes the block of the document.
    @Test func theDocumentShowsTheTable() throws {
        let file = Self.root.appending(path: "docs/architecture.md")
        let old = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(old.range(of: "\n## Modules\n\n```\n")).upperBound
        let end = try #require(old.range(of: "```\n", range: start..<old.endIndex)).lowerBound
        let new = old.replacingCharacters(in: start..<end, with: Self.arrows)
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1", new != old {
            try new.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == new)
    }
}
