import Foundation
import GStreamerKit
import MixModel
import Synchronization
import Testing

@testable import ProgramRelay

/// The list of kinds of pull, and everything derived from it. After an intended change, run `PullDocumentTests` with
/// `UPDATE_GOLDEN=1` and read the difference before committing it.
@Suite(.timeLimit(.minutes(3))) struct PullProtocolTests {
    @Test func everyKindIsDescribedOnce() {
        let all = PullProtocols.all
        #expect(Set(all.map { $0.name }).count == all.count)
        for kind in all {
            #expect(!kind.name.isEmpty && !kind.summary.isEmpty && !kind.summary.contains("|"))
            #expect(!kind.schemes.isEmpty)
            for scheme in kind.schemes {
                #expect(scheme.name.wholeMatch(of: /[a-z][a-z0-9+.\-]*/) != nil, "\(scheme)")
            }
            #expect(kind.options.connectTimeout >= 1 && kind.options.idleTimeout >= 0)
        }
    }

    @Test func everySchemeIsTakenByTheFirstKindThatHasIt() {
        for scheme in PullProtocols.schemes {
            for url in ["\(scheme)://host/live/x", "\(scheme.uppercased())://host:1/live/x?k=1"] {
                let kind = PullProtocols.kind(of: url)
                #expect(kind?.schemes.contains { $0.name == scheme } == true, "\(url)")
            }
        }
    }

    @Test func theURLDecidesWhoPulls() {
        func kind(_ url: String) -> String? { PullProtocols.kind(of: url)?.name }
        #expect(kind("rtmp://127.0.0.1:1/live/x") == RTMPSocketPull.name)
        #expect(kind("RTMP://127.0.0.1:1/live/x") == RTMPSocketPull.name)
        #expect(kind("rtmps://127.0.0.1:1/live/x") == RTMPSocketPull.name)
        #expect(kind("rtmps://user:word@127.0.0.1:1/live/x") == RTMPPull.name)
        #expect(kind("rtmp://user:word@127.0.0.1:1/live/x") == RTMPPull.name)
        #expect(kind("http://127.0.0.1:1/x.flv") == HTTPPull.name)
        #expect(["gopher://127.0.0.1:1/x.flv", "rtmp", "rtmp:/h/a/b", ""].allSatisfy { kind($0) == nil })
    }

    /// Sources that read HTTP or RTMP run in the relay; what reads media is our own or runs in a process of its own.
    @Test func noDemuxerRunsInTheRelay() {
        let inside = PullProtocols.all.filter { !($0 is any WorkerPullKind.Type) }
        #expect(Set(inside.flatMap { kind in kind.elements.map { $0.name } }) == ["rtmp2src", "souphttpsrc"])
        #expect(PullSchemes.withCredentials.allSatisfy { !$0.hasPrefix("rtmp") }, "rtmp2src would meet strangers")
    }

    /// Port 1 has no listener.
    @Test func everyKindOpensAndEndsOnceInWordsWithoutTheKey() async throws {
        for kind in PullProtocols.all {
            for scheme in kind.schemes {
                let urls = ["", "user:word@"].map { "\(scheme.name)://\($0)127.0.0.1:1/live/secret-key" }
                for url in urls where kind.takes(url) {
                    let ends = Mutex<[PullEnd]>([])
                    let pull = kind.open(PullRequest(url: url, options: kind.options)) { event in
                        if case .ended(let end) = event { ends.withLock { $0.append(end) } }
                    }
                    #expect(try await outputEventually { !ends.withLock { $0.isEmpty } }, "\(url)")
                    await pull.close()
                    #expect(ends.withLock { $0.count } == 1)
                    #expect(ends.withLock { $0.first?.words.contains("secret-key") } == false)
                    // None of the present transports has a return path.
                    #expect(!pull.takesKeyframeRequests)
                }
            }
        }
    }

    @Test func aURLThatNoKindTakesIsRefusedInWords() async throws {
        let ends = Mutex<[PullEnd]>([])
        let pull = PullProtocols.open("gopher://host/secret") { event in
            if case .ended(let end) = event { ends.withLock { $0.append(end) } }
        }
        #expect(try await outputEventually { !ends.withLock { $0.isEmpty } })
        await pull.close()
        let expected = PullProtocols.schemes.map { $0 + "://" }.joined(separator: ", ")
        #expect(
            ends.withLock { $0 } == [PullEnd(.badURL, "the URL cannot be pulled: expected one of \(expected)")])
    }

    @Test func theDoctorChecksWhatEveryKindNeeds() {
        for element in PullProtocols.all.flatMap({ $0.elements }) {
            let required = RequiredElements.all.filter { $0.name == element.name }
            #expect(required.count == 1 && required.first?.package == element.package)
            if let known = MissingElement(name: element.name).package { #expect(known == element.package) }
        }
        #expect(Set(RequiredElements.all.map(\.name)).count == RequiredElements.all.count)
    }
}

/// The service's and the documents' lists of pulls match `PullProtocols.all`.
struct PullDocumentTests {
    private static let isUpdate = ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1"
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../..").standardizedFileURL

    /// Compares the text between two marks of a file, and writes it with `UPDATE_GOLDEN=1`.
    private func expect(_ text: String, in path: String, after mark: String, before end: String) throws {
        let file = Self.root.appending(path: path)
        let old = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(old.range(of: mark)).upperBound
        let stop = try #require(old.range(of: end, range: start..<old.endIndex)).lowerBound
        let new = old.replacingCharacters(in: start..<stop, with: text)
        if Self.isUpdate, new != old { try new.write(to: file, atomically: true, encoding: .utf8) }
        #expect(try String(contentsOf: file, encoding: .utf8) == new)
    }

    @Test func theServiceAcceptsTheSchemesOfTheRelay() throws {
        func list(_ names: [String]) -> String { "\n" + names.map { "        \"\($0)\",\n" }.joined() + "    " }
        let file = "Sources/MixModel/Plan/PullSchemes.swift"
        try expect(list(PullProtocols.schemes), in: file, after: "static let all = [", before: "]")
        let names = PullProtocols.all.flatMap { $0.schemes }.filter { $0.takesCredentials }.map { $0.name }
        try expect(list(names), in: file, after: "static let withCredentials = [", before: "]")
    }

    @Test func theReadmeListsTheKinds() throws {
        let rows = PullProtocols.all.map { kind in
            let schemes = kind.schemes.map { scheme in
                "`\(scheme.name)://`" + (scheme.port.map { " (\($0))" } ?? "")
            }.joined(separator: ", ")
            let needs = kind.elements.map { "`\($0.name)` (\($0.package))" }.joined(separator: ", ")
            return "| \(kind.name) | \(schemes) | \(kind.summary) | \(needs.isEmpty ? "–" : needs) |\n"
        }
        try expect(
            rows.joined(), in: "README.md",
            after: "| source | URL (default port) | carries | needs |\n|---|---|---|---|\n",
            before: "\nApps send the same events")
    }

    @Test func theInterfaceNamesTheSchemes() throws {
        let schemes = PullProtocols.schemes
        let list = schemes.dropLast().joined(separator: ", ") + " or " + (schemes.last ?? "")
        try expect(list, in: "openapi.yaml", after: "URL to pull from: ", before: ",\n        as sources.allow")
    }

    /// `deploy/setup.sh` installs the elements that the kinds need.
    @Test func setupInstallsThePackages() throws {
        let script = try String(contentsOf: Self.root.appending(path: "deploy/setup.sh"), encoding: .utf8)
        let start = try #require(script.range(of: "\npackages=(\n")).upperBound
        let end = try #require(script.range(of: "\n)\n", range: start..<script.endIndex)).lowerBound
        let installed = script[start..<end].split(separator: "\n").filter { !$0.contains("#") }
            .flatMap { $0.split(separator: " ") }.map(String.init)
        for element in PullProtocols.all.flatMap({ $0.elements }) {
            #expect(installed.contains(element.package), "\(element)")
        }
    }
}
