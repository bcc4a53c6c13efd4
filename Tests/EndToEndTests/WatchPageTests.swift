import Foundation
import Testing

@testable import LayoutEngine
@testable import ViewerProbe

/// The page for viewers in Chromium while it plays a program, used as a person does.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct WatchPageTests {
    private static let player = "document.querySelector('#player')"
    /// Whether the page plays, and has shown some pictures.
    private static let plays = "\(player).state === 'playing' && \(player).figures.presented > 20"
    /// The names over the picture that are visible to everyone, as elements.
    private static let names = "[...document.querySelectorAll('#names .pane .name')]"

    /// Returns whether the player shows this sentence instead of a picture.
    private static func says(_ sentence: String) -> String {
        // The page's scripts may not have run yet.
        let part = "\(player).shadowRoot?.querySelector"
        return "\(part)('.message')?.hidden === false && \(part)('.text').textContent === '\(sentence)'"
    }

    private static func open(_ stage: Stage, _ rest: String = "", width: Int = 1400) async throws -> BrowserPage {
        try await BrowserPage.open(
            "http://127.0.0.1:\(stage.client.port)/watch/\(stage.room)\(rest)", in: stage.directory, width: width)
    }

    private static func publish(_ name: String, _ id: Int, on stage: Stage) async throws {
        try await stage.publish(name, SyntheticPublisher(id: id, width: 360, height: 640, gopSeconds: 1))
    }

    /// A program that needs a signature plays with a signed link. Without one, or with an expired one, the page says
    /// what is wrong with the link.
    @Test(.timeLimit(.minutes(10))) func aSignedProgramPlays() async throws {
        let key = "0123456789abcdef"
        try await Stage.run(environment: ["MIXORCHESTRATOR_PLAYBACK_KEY": key]) { stage in
            try await Self.publish("alice", 1, on: stage)
            try await stage.open(host: "alice")
            let path = "/live/\(stage.room).flv"
            /// Returns the query of the program's signed URL.
            func signed(seconds: Int) async throws -> String {
                let url = "http://127.0.0.1:\(stage.client.port)\(path)"
                let signing = try ManagedProcess(
                    "sign-url-\(seconds)", Workspace.executable("mixorchestrator"),
                    ["sign-url", url, "--key", key, "--ttl", "\(seconds)"], in: stage.directory)
                try await waitUntil("the URL is signed") { !signing.isRunning }
                return String(signing.messages().trimmingCharacters(in: .whitespacesAndNewlines).dropFirst(url.count))
            }
            let page = try await Self.open(stage, try await signed(seconds: 600))
            try await page.wait(for: Self.plays)
            try await page.wait(for: "\(Self.names).map(one => one.textContent).join() === 'alice'")
            // The number of viewers is read with the same signature.
            try await page.wait(for: "document.querySelector('#viewers:not([hidden])')?.textContent === '1 watching'")
            // Playing alice alone over WebRTC would be refused: it is off.
            let _: Bool = try await page.evaluate("(\(Self.names)[0].click(), true)")
            try await page.wait(for: "document.querySelector('#names .card:not([hidden])')")
            let offers: Int = try await page.evaluate(
                "document.querySelectorAll('#names .card button:not([hidden])').length")
            #expect(offers == 0)
            #expect(await page.complaints == [])
            await page.close()

            let expired = try await signed(seconds: 1)
            try await waitUntil("the signature has expired") {
                try await stage.client.request("HEAD", path + expired).status == 403
            }
            for (query, sentence) in [
                ("", "This link is not valid for this program. Ask for a new one."),
                (expired, "This link has expired. Ask for a new one."),
            ] {
                let page = try await Self.open(stage, query)
                try await page.wait(for: Self.says(sentence))
                #expect(await page.complaints == [])
                await page.close()
            }
        }
    }

    /// Labels, roles, headings, focus order, contrast and reflow are right beside a picture, with names over it and the
    /// player's bar, at the size of a desktop and of a phone.
    @Test(.timeLimit(.minutes(12))) func thePlayingPageIsAccessible() async throws {
        try await Stage.run(environment: ["MIXORCHESTRATOR_WEBRTC_WHEP": "on"]) { stage in
            try await Self.publish("alice", 1, on: stage)
            try await stage.open(host: "alice")
            for width in [1400, 390] {
                let page = try await Self.open(stage, width: width)
                try await page.wait(for: Self.plays)
                try await page.wait(for: "document.querySelector('#badge.live') && \(Self.names).length === 1")
                try await page.wait(for: "document.querySelector('#viewers:not([hidden])')")
                // The bar and the names are there while the pointer moves. The card is that of the name.
                let _: Bool = try await page.evaluate(
                    """
                    (() => {
                      setInterval(() => \(Self.player).dispatchEvent(new PointerEvent("pointermove")), 200);
                      \(Self.names)[0].click();
                      return true;
                    })()
                    """)
                try await page.wait(
                    for: """
                        ["#names .card button", "#player"].map(one => document.querySelector(one))
                          .map(one => one?.shadowRoot?.querySelector(".live") ?? one)
                          .every(one => one?.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
                        """)
                #expect(try await page.faults() == [], "\(width)")
                // The checker reads the trees of the player too.
                let _: Bool = try await page.evaluate(
                    "(\(Self.player).shadowRoot.querySelector('.bar').append(document.createElement('button')), true)")
                let faults = try await page.faults()
                #expect(faults.contains { $0.contains("has no accessible name") }, "\(faults)")
                #expect(await page.complaints == [])
                await page.close()
            }
        }
    }

    /// A click on a name opens a card, whose button plays that participant alone over WebRTC, also one whose stream lies
    /// on another server. The page shows display names, and the way back leads to the program.
    @Test(.timeLimit(.minutes(10))) func aParticipantIsWatchedAlone() async throws {
        try await Stage.run(environment: ["MIXORCHESTRATOR_WEBRTC_WHEP": "on"]) { stage in
            try await Self.publish("alice", 1, on: stage)
            // Neither alice nor the program has this size.
            try await stage.publish("bob", SyntheticPublisher(id: 2, width: 480, height: 640, gopSeconds: 1))
            try await stage.open(host: "alice")
            let name = "Bob <b>B.</b>"
            let joined = try await stage.client.request(
                "POST", "/v1/rooms/\(stage.room)/events",
                json: #"{"type": "participant.joined", "user": "bob", "name": "\#(name)"}"#)
            #expect(joined.status == 202, "\(joined.text)")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let page = try await Self.open(stage)
            try await page.wait(for: Self.plays)
            try await page.wait(for: "\(Self.names).map(one => one.textContent).sort().join() === '\(name),alice'")
            let people = "document.querySelector('#people').textContent"
            try await page.wait(
                for: "['alice and \(name)', '\(name) and alice'].some(two => \(people) === `On air: ${two}`)")

            try await page.pointAndClick("\(Self.names).find(one => one.textContent === '\(name)')")
            let buttons = "[...document.querySelectorAll('#names .card:not([hidden]) button:not([hidden])')]"
            try await page.pointAndClick("\(buttons).find(one => one.textContent === 'Watch only \(name)')")
            try await page.wait(for: "\(Self.player).video.videoWidth === 480 && \(Self.player).state === 'playing'")
            let shown: [String] = try await page.evaluate(
                "[location.hash, \(Self.player).getAttribute('whep'), document.querySelector('#room').textContent]")
            #expect(shown == ["#user=bob", "/whep/\(stage.room)/bob", "\(name) in \(stage.room)"])
            let pictures: Int = try await page.evaluate("\(Self.player).figures.presented")
            try await page.wait(for: "\(Self.player).figures.presented > \(pictures + 20)")

            try await page.pointAndClick("document.querySelector('#back')")
            try await page.wait(for: "\(Self.player).video.videoWidth === 720 && \(Self.player).state === 'playing'")
            try await page.wait(for: "\(Self.names).length === 2 && location.hash === ''")
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// When the stream stops for a while, the page says that it waits, and the player reports the length of the
    /// interruption once the stream goes on.
    @Test(.timeLimit(.minutes(8))) func aStallIsReported() async throws {
        try await Stage.run { stage in
            try await Self.publish("alice", 1, on: stage)
            try await stage.open(host: "alice")
            let page = try await Self.open(stage)
            try await page.wait(for: Self.plays)
            let _: Bool = try await page.evaluate(
                """
                (() => {
                  window.stalls = [];
                  \(Self.player).addEventListener("stall", event => stalls.push(event.detail.seconds));
                  return true;
                })()
                """)
            // The program goes on meanwhile, but viewers receive nothing.
            let service = stage.service.identifier
            kill(service, SIGSTOP)
            do {
                try await page.wait(for: "\(Self.player).message === 'Buffering…'")
            } catch {
                kill(service, SIGCONT)
                throw error
            }
            kill(service, SIGCONT)
            try await page.wait(for: "stalls.length > 0 && \(Self.player).state === 'playing'")
            let stalls: [Double] = try await page.evaluate("stalls")
            print("stalls in s: \(stalls)")
            #expect(stalls.allSatisfy { $0 > 0 && $0 < 60 }, "\(stalls)")
            let total: [Double] = try await page.evaluate(
                "[\(Self.player).figures.waits, \(Self.player).figures.stalled]")
            #expect(total[0] >= 1 && total[1] >= stalls[0] * 1000 - 1, "\(total)")
            #expect(await page.complaints == [])
            await page.close()
        }
    }

    /// A browser without a decoder for H.265 says so, and plays again on request once the program is H.264.
    @Test(.timeLimit(.minutes(12))) func aProgramWithoutADecoderIsExplained() async throws {
        // Small, because an encoder of H.265 and a browser share two cores.
        try await Stage.run(canvas: Canvas(width: 360, height: 640, fps: 20)) { stage in
            try await Self.publish("alice", 1, on: stage)
            try await Self.publish("bob", 2, on: stage)
            try await stage.open(host: "alice")
            let asked = try await stage.client.request(
                "PATCH", "/v1/tasks/auto-\(stage.room)",
                json: #"{"program": {"encoding": {"videoCodec": "h265", "gopFrames": 20}}}"#,
                headers: ["If-Match": "*"])
            #expect(asked.status == 200 && asked.text.contains("h265"), "\(asked.text)")
            try await stage.join("bob")
            try await stage.waitForOnAir("mix", users: ["alice", "bob"])
            let page = try await Self.open(stage)
            let hasDecoder: Bool = try await page.evaluate(
                #"MediaSource.isTypeSupported('video/mp4; codecs="hvc1.1.6.L63.90"')"#)
            if hasDecoder {
                try await page.wait(for: Self.plays)
            } else {
                try await page.wait(
                    for: Self.says(
                        "This program is in H.265, which this browser cannot play. "
                            + "Try Safari, or Chrome or Edge on a device with hardware decoding."))
            }
            try await stage.leave("bob")
            try await stage.waitForOnAir("bypass")
            if !hasDecoder {
                let again = "\(Self.player).shadowRoot.querySelector('.again')"
                #expect(try await page.evaluate("\(again).checkVisibility()", as: Bool.self))
                let _: Bool = try await page.evaluate("(\(again).click(), true)")
            }
            try await page.wait(for: Self.plays)
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
