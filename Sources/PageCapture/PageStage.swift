import EncodedMedia
import Foundation
import GStreamerKit
import MixModel
import Synchronization
import WebRTCGateway

/// One start of everything that shows and captures a page: its processes, the browser's debugging pipe, and the
/// capture.
///
/// `@unchecked Sendable`: immutable.
final class PageStage: @unchecked Sendable {
    enum Event: Sendable {
        case frame(PublishedStream.Frame)
        case browser(Browser.Event)
        case failed(String)
    }

    let browser: Browser
    /// The capture; `nil` for a page that is only captured as pictures.
    let pipeline: PagePipeline?
    private let host: PageHost
    /// Whether the stage is being ended, so that the end of its processes is expected.
    private let isClosed = Atomic<Bool>(false)

    private init(browser: Browser, pipeline: PagePipeline?, host: PageHost) {
        self.browser = browser
        self.pipeline = pipeline
        self.host = host
    }

    /// Starts the processes, and creates the capture, which begins with `play`.
    ///
    /// - Parameters:
    ///   - begin: Time of the first start, to which times of frames are relative.
    ///   - thread: A lasting thread.
    ///   - onEvent: Called on any thread; events of the browser on the loop.
    static func start(
        _ job: PageJob, in directory: PageDirectory, proxyPort: Int, share: BrowserShare, begin: Int64,
        on thread: LastingThread, onEvent: @escaping @Sendable (Event) -> Void
    ) async throws -> PageStage {
        let host = try await thread.run {
            try PageHost(job, in: directory, proxyPort: proxyPort, share: share)
        }
        do {
            let pipeline = try await thread.run {
                try host.screen.map { screen in
                    try PagePipeline(
                        width: job.width, height: job.height, frameRate: job.frameRate, display: screen.display,
                        pulse: screen.pulse, origin: MediaTime(nanoseconds: MonotonicClock.now() - begin)
                    ) { onEvent(.frame($0)) }
                }
            }
            let film = host.screen == nil ? Browser.Size(width: job.width, height: job.height) : nil
            let browser = Browser(to: host.toBrowser, hearsConsole: job.hearsConsole, film: film) {
                onEvent(.browser($0))
            }
            let stage = PageStage(browser: browser, pipeline: pipeline, host: host)
            host.onExit { reason in
                if !stage.isClosed.load(ordering: .relaxed) { onEvent(.failed(reason)) }
            }
            return stage
        } catch {
            try? await thread.run { host.end() }
            throw error
        }
    }

    /// Begins the capture. Does nothing if it has begun.
    func play() async throws { try await pipeline?.play() }

    /// Begins the capture, and ends everything if that fails.
    func playOrEnd(on thread: LastingThread) async throws {
        do {
            try await play()
        } catch {
            isClosed.store(true, ordering: .relaxed)
            await end(on: thread)
            throw error
        }
    }

    /// Begins to control the browser. Call on the loop.
    func begin() { browser.begin(reading: host.fromBrowser) }

    /// Ends control of the browser, which reports no event afterwards. Call on the loop.
    func close() {
        isClosed.store(true, ordering: .relaxed)
        browser.close()
    }

    /// Ends capture and processes.
    func end(on thread: LastingThread) async {
        // Before the display: Xlib ends this process if the display ends first.
        await pipeline?.pipeline.tearDown()
        try? await thread.run { [host] in host.end() }
    }
}
