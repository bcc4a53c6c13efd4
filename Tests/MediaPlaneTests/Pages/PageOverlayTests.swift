import ChildProcesses
import Foundation
import GStreamerKit
import MixModel
import RTMP
import TestSupport
import Testing
import TextFormats

@testable import PageCapture

struct ScreencastTests {
    @Test func theLastStateIsFetchedOnceAfterSeveralPictures() {
        var screencast = Screencast()
        #expect(screencast.isQuiet(now: .max) == false)
        #expect(screencast.took(now: 0) == Screencast.quiet)
        // The last state is enough as a single picture.
        #expect(screencast.isQuiet(now: Screencast.quiet) == false)
        _ = screencast.took(now: Screencast.quiet)
        #expect(screencast.isQuiet(now: Screencast.quiet + 1) == false)
        #expect(screencast.isQuiet(now: 2 * Screencast.quiet) == true)
        _ = screencast.took(now: 2 * Screencast.quiet + 5)
        #expect(screencast.isQuiet(now: 4 * Screencast.quiet) == false)
    }

    @Test func onlyPicturesHaveASize() {
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        let size = PagePicture.size(of: head + [0, 0, 1, 64, 0, 0, 0, 180, 8])
        #expect(size?.0 == 320 && size?.1 == 180)
        #expect(PagePicture.size(of: head + [0, 0, 1, 64, 0, 0, 0, 180]) == nil)
        #expect(PagePicture.size(of: [UInt8](repeating: 1, count: 40)) == nil && PagePicture.size(of: []) == nil)
        let largest = PagePicture.size(of: head + [UInt8](repeating: 255, count: 9))
        #expect(largest?.0 == Int(UInt32.max))
    }
}

/// Pages that are kept as a single picture, in a real Chromium.
@Suite(.serialized, .timeLimit(.minutes(6)), .enabled(if: PagePrograms.missing.isEmpty)) struct PageOverlayTests {
    private static let page = """
        <body style="margin:0"><div id="bar" style="position:absolute;left:0;top:40px;width:200px;height:80px;\
        background:rgba(255,0,0,0.5)"></div></body>
        """

    /// Returns the pixels of the picture, premultiplied, at these positions.
    private static func pixels(_ path: String, _ places: [(Int, Int)]) async throws -> [[UInt8]] {
        guard let file = FileManager.default.contents(atPath: path), PagePicture.size(of: Array(file)) != nil else {
            return []
        }
        let picture = try await ImageDecoder.image(Array(file), as: .png, width: 320, height: 160)
        let bytes = picture.plane(0)
        return places.map { x, y in Array(bytes[(y * 320 + x) * 4..<(y * 320 + x) * 4 + 4]) }
    }

    /// A page that hung for a moment may never change again.
    @Test func aPictureThatWasHiddenIsShownAgain() async throws {
        let path = NSTemporaryDirectory() + "picture-\(UInt64.random(in: .min ... .max)).png"
        let loop = SocketLoop.shared
        let picture = PagePicture(path: path, width: 320, height: 180)
        defer { loop.perform { picture.close() } }
        let head: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        let bytes = head + [0, 0, 1, 64, 0, 0, 0, 180, 8]
        loop.perform {
            picture.take(bytes)
            picture.show()
        }
        #expect(try await outputEventually { FileManager.default.fileExists(atPath: path) })
        loop.perform { picture.hide() }
        #expect(try await outputEventually { !FileManager.default.fileExists(atPath: path) })
        loop.perform { picture.show() }
        #expect(try await outputEventually { FileManager.default.fileExists(atPath: path) })
        // The picture of one document is not shown for another.
        loop.perform {
            picture.hide()
            picture.forget()
            picture.show()
        }
        #expect(try await outputEventually { !FileManager.default.fileExists(atPath: path) })
        loop.perform { picture.take(bytes) }
        #expect(try await outputEventually { FileManager.default.fileExists(atPath: path) })
    }

    @Test func aPictureWithItsTransparencyIsKeptWhileThePageIsShown() async throws {
        let server = try PageServer(["/": Self.page])
        let worker = try await PageRig.start()
        defer {
            worker.stop()
            server.stop()
        }
        let path = worker.directory.appending(path: "board.png").path
        let place = Reach.Place(scheme: "http", address: "127.0.0.1", port: server.port)
        worker.send(
            .publish(
                PageJob(
                    address: "http://127.0.0.1:\(server.port)/", target: "", picture: path, width: 320, height: 160,
                    frameRate: 10, readyLimit: 40, reach: Reach(places: [place]),
                    user: geteuid() == 0 ? "nobody" : nil)))
        #expect(
            try await outputEventually(within: .seconds(90)) { FileManager.default.fileExists(atPath: path) },
            "\(worker.reports)\n\(worker.log)")
        #expect(try await outputEventually { worker.isOnAir }, "\(worker.reports)")
        let first = try await Self.pixels(path, [(100, 80), (300, 80), (100, 10)])
        // Half red, premultiplied; nothing beside it.
        #expect(first.count == 3 && first[1] == [0, 0, 0, 0] && first[2] == [0, 0, 0, 0], "\(first)")
        #expect(zip(first[0], [0, 0, 128, 128]).allSatisfy { abs(Int($0) - $1) <= 2 }, "\(first)")

        // No display and no sound server.
        let names = PageScene.descendants(of: worker.process.processID).map { PageScene.command(of: $0).first ?? "" }
        #expect(!names.contains { $0.contains("Xvfb") || $0.contains("pulseaudio") }, "\(names)")

        // A page that crashes is hidden, and then shown again.
        server.set("/", Self.page.replacingOccurrences(of: "255,0,0,0.5", with: "0,0,255,1"))
        let renderer = try #require(
            PageScene.descendants(of: worker.process.processID).first {
                PageScene.command(of: $0).joined(separator: " ").contains("--type=renderer")
            })
        kill(renderer, SIGKILL)
        #expect(try await outputEventually { worker.states.contains(.failing) }, "\(worker.reports)")
        var second: [[UInt8]] = []
        let isBack = try await outputEventually(within: .seconds(60)) {
            second = try await Self.pixels(path, [(100, 80), (300, 80)])
            return second.first == [255, 0, 0, 255]
        }
        #expect(isBack && second.last == [0, 0, 0, 0], "\(second)")

        worker.send(.terminate)
        #expect(try await outputEventually { !FileManager.default.fileExists(atPath: path) }, "\(worker.log)")
    }
}
