import Crypto
import Foundation
import HTTPTypes
import Testing

@testable import MixOrchestrator

/// The web pages and the files that they load, as a browser gets them.
@Suite struct PageTests {
    @Test(arguments: ["/publish/demo", "/watch/demo", "/embed/demo", "/console"])
    func aPageRunsItsOwnScriptsOnly(path: String) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let page = try await bench.call(.get, path)
                #expect(page.status == 200 && page.headers[.contentType] == "text/html; charset=utf-8")
                #expect(page.headers[.xContentTypeOptions] == "nosniff")
                let policy = try #require(page.headers[.contentSecurityPolicy])
                #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"))
                #expect(policy.contains("frame-ancestors 'self'") && policy.contains("connect-src 'self'"))
                for element in ["script", "style"] {
                    let parts = page.text.components(separatedBy: "<\(element)>")
                    guard parts.count > 1 else {
                        #expect(policy.contains("\(element)-src 'self';"))
                        continue
                    }
                    #expect(parts.count == 2, "one \(element), without attributes")
                    let inside = try #require(parts.last?.components(separatedBy: "</\(element)>").first)
                    let hash = Data(SHA256.hash(data: Data(inside.utf8))).base64EncodedString()
                    #expect(policy.contains("\(element)-src 'self' 'sha256-\(hash)'"))
                }
                // The policy would forbid these.
                #expect(
                    !page.text.contains("style=") && !page.text.contains("onclick") && !page.text.contains("https://"))
                // Relative, for services below a path of a proxy.
                let links = page.text.matches(of: /(?:src|href)="([^"#]+)"/).map { String($0.1) }
                let assets = links.filter { !$0.hasPrefix("data:") }
                #expect(!assets.isEmpty && assets.allSatisfy { !$0.hasPrefix("/") }, "\(assets)")
                for link in assets {
                    let asset = try #require(URL(string: link, relativeTo: URL(string: "http://service\(path)")))
                    #expect(try await bench.call(.get, asset.absoluteURL.path).status == 200, "\(link)")
                }
                let tag = try #require(page.headers[.eTag])
                #expect(try await bench.call(.get, path, headers: [.ifNoneMatch: tag]).status == 304)
                #expect(try await bench.call(.head, path).status == 200)
                #expect(try await bench.call(.post, path).status == 405)
            }
        }
    }

    /// Viewers are offered to watch a participant alone only where that works: a page has no token, and the signature in
    /// its address is for the program.
    @Test(
        arguments: [
            ([:], false), (["webrtc.whep": ["on"]], true),
            (["webrtc.whep": ["on"], "playback.key": ["playback-key-0123456789"]], false),
            (["webrtc.whep": ["on"]].merging(AccessTests.apps()) { $1 }, false),
        ] as [([String: [String]], Bool)]
    )
    func pagesForViewersKnowWhetherParticipantsArePlayed(settings: [String: [String]], plays: Bool) async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory, settings: settings) { bench in
                for path in ["/watch/demo", "/embed/demo"] {
                    let page = try await bench.call(.get, path)
                    #expect(page.status == 200)
                    #expect(page.text.contains("<html data-alone=\"off\" lang=\"en\">") == !plays, "\(path)")
                    #expect(page.text.contains("<html lang=\"en\">") == plays, "\(path)")
                }
            }
        }
    }

    /// A page's links are relative to its address without further slashes.
    @Test func anAddressWithMoreSlashesThanNamesLeadsToThePage() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                for (path, location) in [
                    ("/console/", "../console"), ("/watch/demo/", "../../watch/demo"),
                    ("/watch//demo", "../../watch/demo"), ("/publish/demo//", "../../../publish/demo"),
                    ("/embed/demo/?app=shop&task=a/b", "../../embed/demo?app=shop&task=a/b"),
                ] {
                    let answer = try await bench.call(.get, path)
                    #expect(answer.status == 303 && answer.headers[.location] == location, "\(path)")
                }
                #expect(try await bench.call(.get, "/watch/demo?app=a/").status == 200)
            }
        }
    }

    /// `/` belongs to the interface for programs, whose calls are never sent to a page.
    @Test func aBrowserThatOpensTheAddressIsShownTheConsole() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                let pages = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
                let visit = try await bench.call(.get, "/", headers: [.accept: pages])
                #expect(visit.status == 303 && visit.headers[.location] == "console" && visit.text.isEmpty)
                #expect(visit.headers[.vary] == "Accept")
                #expect(try await bench.call(.get, "/", headers: [.accept: "a/b, Text/HTML ;q=0.1"]).status == 303)
                let acs = try #require(HTTPField.Name("x-acs-action"))
                let calls: [(HTTPRequest.Method, String, HTTPFields)] = [
                    (.get, "/", [:]), (.get, "/", [.accept: "*/*"]), (.get, "/", [.accept: "text/xml"]),
                    (.get, "/", [.accept: "text/htmlx, image/png"]), (.post, "/", [.accept: pages]),
                    (.get, "/?Action=ListRTCLiveRooms", [.accept: pages]),
                    (.get, "/", [.accept: pages, .authorization: "ACS3-HMAC-SHA256 Credential=a"]),
                    (.get, "/", [.accept: pages, acs: "ListRTCLiveRooms"]),
                ]
                for (method, path, headers) in calls {
                    let answer = try await bench.call(method, path, headers: headers)
                    #expect((400..<500).contains(answer.status), "\(method) \(path) \(headers): \(answer.status)")
                    #expect(answer.text.contains("RequestId"))
                }
            }
        }
    }

    /// `scripts/pictures.py` takes each of its pages at the size of a desktop and of a phone; documents show them all.
    @Test func thePicturesOfAllPagesAreInTheDocuments() throws {
        let root = OpenAPIDocument.root
        func text(_ path: String) throws -> String {
            try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        }
        let pages = try text("scripts/pictures.py").matches(of: /\n    \("([a-z-]+)", f?"\//).map { String($0.1) }
        #expect(pages.count >= 9 && pages.contains("watch") && pages.contains("console-editor"), "\(pages)")
        let files = try FileManager.default.contentsOfDirectory(
            atPath: root.appendingPathComponent("docs/pictures").path)
        #expect(files.sorted() == pages.flatMap { ["\($0)-desktop.png", "\($0)-phone.png"] }.sorted())
        let readme = try text("README.md")
        let all = try ["docs/console.md", "docs/player.md", "docs/webrtc.md"].map(text).joined()
        for file in files { #expect(all.contains("](pictures/\(file))"), "\(file)") }
        for page in ["watch", "publish", "console-room", "console-editor"] {
            #expect(readme.contains("](docs/pictures/\(page)-desktop.png)"), "\(page)")
            #expect(readme.contains("](docs/pictures/\(page)-phone.png)"), "\(page)")
        }
    }

    @Test func everyFileOfThePagesIsInTheBinary() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.appendingPathComponent("pages").path) {
            var isDirectory: ObjCBool = false
            let file = root.appendingPathComponent("pages/\(path)")
            _ = FileManager.default.fileExists(atPath: file.path, isDirectory: &isDirectory)
            guard !isDirectory.boolValue else { continue }
            try #require(EmbeddedFiles.paths.contains("pages/\(path)"), "pages/\(path) is not in embedded_files.c")
            #expect(try Data(EmbeddedFiles.bytes(of: "pages/\(path)")) == Data(contentsOf: file), "pages/\(path)")
        }
    }

    /// Files that a script imports are found too, so that no module of the console is missing.
    @Test func theConsoleFindsItsModulesAndTheSchemaOfLayouts() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                var waiting = ["console.js"]
                var read: Set<String> = []
                while let name = waiting.popLast() {
                    guard read.insert(name).inserted else { continue }
                    let script = try await bench.call(.get, "/assets/\(name)")
                    try #require(script.status == 200, "\(name)")
                    for match in script.text.matches(of: /(?:from|import) "\.\/([^"]+)"/) {
                        waiting.append(String(match.1))
                    }
                }
                #expect(read.count > 20 && read.contains("player.js"))
                let schema = try await bench.call(.get, "/assets/layout.schema.json")
                #expect(schema.status == 200 && schema.headers[.contentType] == "application/json")
                #expect(
                    try await bench.call(.get, "/console").headers[.contentSecurityPolicy]?.contains("unsafe") == false)
            }
        }
    }

    /// Scripts are readable in the repository, and compressed for browsers.
    @Test func whatBrowsersLoadIsCompressed() async throws {
        try await withDirectory { directory in
            try await withOrchestrator(directory: directory) { bench in
                func answer(_ path: String, _ headers: HTTPFields = [.acceptEncoding: "br, gzip"]) async throws -> (
                    headers: HTTPFields, bytes: [UInt8]
                ) {
                    try await bench.client.execute(uri: path, method: .get, headers: headers) {
                        (headers: $0.headers, bytes: Array(buffer: $0.body))
                    }
                }
                var sent = 0
                for path in EmbeddedFiles.paths where path.hasPrefix("pages/assets/player") {
                    let file = try await answer("/assets/\(path.split(separator: "/")[2])")
                    #expect(file.headers[.contentEncoding] == "gzip")
                    #expect(file.headers[.vary]?.hasSuffix("Accept-Encoding") == true)
                    sent += file.bytes.count
                }
                #expect(10_000..<25_000 ~= sent, "the whole player: \(sent) bytes")

                let page = try await answer("/console")
                #expect(page.headers[.contentEncoding] == "gzip" && page.headers[.contentSecurityPolicy] != nil)
                let file = try await answer("/assets/player.js")
                let tag = try #require(file.headers[.eTag])
                let script = EmbeddedFiles.bytes(of: "pages/assets/player.js")
                let unpacked = URL(filePath: directory + "/player.js")
                try Data(file.bytes).write(to: unpacked.appendingPathExtension("gz"))
                #expect(try await outputOfShell("gzip -d '\(unpacked.path).gz'; echo $?") == "0\n")
                #expect(try Data(contentsOf: unpacked) == Data(script))

                let plain = try await answer("/assets/player.js", [.acceptEncoding: "gzip;q=0, *"])
                #expect(plain.headers[.contentEncoding] == nil && plain.headers[.eTag] != tag)
                #expect(plain.bytes == script)
                let known: HTTPFields = [.acceptEncoding: "gzip", .ifNoneMatch: tag]
                #expect(try await bench.call(.get, "/assets/player.js", headers: known).status == 304)
                let other: HTTPFields = [.ifNoneMatch: tag]
                #expect(try await bench.call(.get, "/assets/player.js", headers: other).status == 200)
            }
        }
    }

    @Test func assetsAreCheckedAtEachUseAndReadByOriginsThatMayPlay() async throws {
        let origin = "https://site.example"
        try await withDirectory { directory in
            try await withOrchestrator(
                directory: directory, settings: ["playback.cors": [origin]]
            ) { bench in
                let script = try await bench.call(.get, "/assets/watch.js", headers: [.origin: origin])
                #expect(script.status == 200 && script.headers[.contentType] == "text/javascript; charset=utf-8")
                #expect(script.headers[.xContentTypeOptions] == "nosniff")
                #expect(script.headers[.cacheControl] == "no-cache")
                #expect(script.headers[.accessControlAllowOrigin] == origin)
                let tag = try #require(script.headers[.eTag])
                for known in [tag, "\"other\", W/\(tag)", "*"] {
                    let again = try await bench.call(.get, "/assets/watch.js", headers: [.ifNoneMatch: known])
                    #expect(again.status == 304 && again.text.isEmpty && again.headers[.eTag] == tag)
                }
                #expect(
                    try await bench.call(.get, "/assets/watch.js", headers: [.ifNoneMatch: "\"other\""]).status == 200)
                let stranger = try await bench.call(
                    .get, "/assets/watch.js", headers: [.origin: "https://other.example"])
                #expect(stranger.headers[.accessControlAllowOrigin] == nil)
                #expect(stranger.headers[.vary] == "Origin, Accept-Encoding")
                #expect(try await bench.call(.options, "/assets/watch.js", headers: [.origin: origin]).status == 204)
                #expect(try await bench.call(.get, "/assets/nothing.js").status == 404)
                #expect(try await bench.call(.get, "/assets/..%2Fpublish.html").status >= 400)
                #expect(try await bench.call(.put, "/assets/watch.js").status == 405)

                // These sites may embed the frame, but not the full page.
                func framers(_ path: String) async throws -> String? {
                    try await bench.call(.get, path).headers[.contentSecurityPolicy]?.components(
                        separatedBy: "frame-ancestors "
                    ).last
                }
                #expect(try await framers("/embed/demo") == "'self' \(origin)")
                #expect(try await framers("/watch/demo") == "'self'")
            }
        }
    }
}
