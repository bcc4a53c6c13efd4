import EncodedMedia
import Foundation
import RTMP
import Synchronization

/// A browser with one page, controlled over its debugging pipe.
///
/// `@unchecked Sendable`: all state belongs to the socket loop, and every method must be called there. Reading and
/// writing may block and therefore have their own thread and queue.
final class Browser: @unchecked Sendable {
    enum Event: Hashable, Sendable {
        /// The page can be opened.
        case ready
        case loaded
        case loadFailed(String)
        case painted
        case networkIsIdle
        case wrote(String)
        case expressionIs(Bool)
        /// Whether the expression for the page's end is true.
        case endIs(Bool)
        case answered
        case crashed
        /// The page's process is not ended, since the page navigates on.
        case crashRefused
        /// A picture of the page as PNG, with premultiplied alpha.
        case picture([UInt8])
        /// The pipe is closed, or the browser does not behave as required.
        case ended(String)
    }

    /// Largest number of messages that wait for the loop, and of commands that wait for the browser or its answer.
    private static let mostWaiting = 512
    /// Interval in ns at which the browser is asked for its page while it starts.
    private static let lookInterval: Int64 = 10_000_000
    /// Pause in ns after a document that cannot be captured yet.
    private static let filmInterval: Int64 = 50_000_000

    /// Script that runs in each document before its own scripts. The dialogs of these functions would cover the page.
    private static let quiet = """
        (() => { const none = () => null; for (const name of ["open", "alert", "confirm", "prompt", "print"]) \
        { try { Object.defineProperty(window, name, { value: none, writable: false, configurable: false }); } \
        catch (error) { } } })();
        """

    /// The browser's error for commands that a process has not answered before it crashed. Also that of a successful `crash()`.
    private static let crashedWords = "Target crashed"

    private let loop = SocketLoop.shared
    private let output: FileHandle
    private let writing = DispatchQueue(label: "browser")
    private let toWrite = Atomic<Int>(0)
    private let toRead = Atomic<Int>(0)
    private var hearsConsole: Bool
    private let film: Size?
    private let onEvent: (Event) -> Void
    private var answers: [Int: (BrowserMessage) -> Void] = [:]
    private var lastID = 0
    private let lookAt = LoopDeadline()
    private let filmAt = LoopDeadline()
    private var screencast = Screencast()
    private var isFilming = false
    /// The page's target and session.
    private var target: String?
    private var session: String?
    private var isReady = false
    private var isOver = false
    /// Number of the latest navigation, and whether the browser has not answered it yet.
    private var navigation = 0
    private var isNavigating = false

    /// A size in pixels.
    struct Size: Hashable, Sendable {
        var width: Int
        var height: Int
    }

    /// - Parameters:
    ///   - hearsConsole: Whether the page's console is read.
    ///   - film: Size at which the page is shown on a transparent background and captured as pictures; `nil` means no
    ///     pictures.
    ///   - onEvent: Called on the loop.
    init(
        to output: FileHandle, hearsConsole: Bool, film: Size? = nil, onEvent: @escaping @Sendable (Event) -> Void
    ) {
        self.output = output
        self.film = film
        self.hearsConsole = hearsConsole
        self.onEvent = onEvent
    }

    /// Starts reading, until the browser ends, and finds its page.
    func begin(reading input: FileHandle) {
        let thread = Thread { [self] in
            var messages = BrowserMessages(
                longest: film == nil ? BrowserMessages.longest : BrowserMessages.longestWithPictures)
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(input.fileDescriptor, &buffer, buffer.count)
                guard count > 0 || (count < 0 && errno == EINTR) else { break }
                guard count > 0 else { continue }
                for bytes in messages.take(buffer[..<count]) { take(bytes) }
            }
            loop.perform { [self] in end("the browser has closed its debugging pipe") }
        }
        thread.name = "browser"
        thread.start()
        lookAt.begin { [weak self] in self?.look() }
        filmAt.begin { [weak self] in self?.filmAgain() }
        look()
    }

    /// Starts reading the page's console.
    func hearConsole() {
        guard !hearsConsole else { return }
        hearsConsole = true
        if session != nil { send("Runtime.enable") }
    }

    /// Ends the connection. No event is reported afterwards.
    func close() {
        isOver = true
        lookAt.end()
        filmAt.end()
        answers = [:]
        writing.async { [output] in try? output.close() }
    }

    private func end(_ reason: String) {
        guard !isOver else { return }
        isOver = true
        answers = [:]
        onEvent(.ended(reason))
    }

    // MARK: - Commands

    func navigate(to address: String) {
        navigation += 1
        isNavigating = true
        let own = navigation
        send("Page.navigate", ["url": .text(address)]) { [weak self] answer in
            // The end of an earlier navigation, which this one has aborted, says nothing about the page.
            guard let self, own == navigation else { return }
            isNavigating = false
            // The browser's description of a failure may be shown; it contains no URL.
            if let failure = answer.result?.errorText ?? answer.error?.message {
                onEvent(.loadFailed(Self.words(for: failure)))
            } else {
                onEvent(.loaded)
                startFilm()
            }
        }
    }

    /// Returns words for a failure to load a page, with the browser's name of it.
    private static func words(for failure: String) -> String {
        if failure.hasPrefix("net::ERR_CERT_") { return "its certificate is not valid (\(failure))" }
        if failure.hasPrefix("net::ERR_SSL_") { return "TLS with its server fails (\(failure))" }
        return failure
    }

    /// Evaluates an expression in the page. `event` makes an event of the result, which is false if there is none.
    func evaluate(_ expression: String, event: @escaping (Bool) -> Event) {
        let parameters: [String: BrowserCommand.Value] = [
            "expression": .text("!!(\(expression)\n)"), "returnByValue": .flag(true), "silent": .flag(true),
        ]
        send("Runtime.evaluate", parameters) { [weak self] answer in
            self?.onEvent(event(answer.result?.result?.isTrue ?? false))
        }
    }

    func probe() {
        send("Runtime.evaluate", ["expression": .text("1"), "returnByValue": .flag(true)]) { [weak self] _ in
            self?.onEvent(.answered)
        }
    }

    /// Ends the page's process.
    func crash() {
        send("Page.crash") { [weak self] answer in
            guard let refusal = answer.error, refusal.message != Self.crashedWords else { return }
            self?.onEvent(.crashRefused)
        }
    }

    private func send(
        _ method: String, _ parameters: [String: BrowserCommand.Value] = [:], inPage: Bool = true,
        then: ((BrowserMessage) -> Void)? = nil
    ) {
        guard !isOver, answers.count < Self.mostWaiting, toWrite.load(ordering: .relaxed) < Self.mostWaiting else {
            return
        }
        lastID += 1
        if let then { answers[lastID] = then }
        let command = BrowserCommand(
            id: lastID, method: method, params: parameters, sessionId: inPage ? session : nil)
        toWrite.add(1, ordering: .relaxed)
        writing.async { [self, output] in
            try? output.write(contentsOf: Data(command.bytes))
            toWrite.subtract(1, ordering: .relaxed)
        }
    }

    // MARK: - The page

    private func look() {
        send("Target.getTargets", inPage: false) { [weak self] answer in
            guard let self, target == nil else { return }
            let page = answer.result?.targetInfos?.first { $0.type == "page" && $0.url?.hasPrefix("data:") ?? false }
            guard let page else {
                lookAt.set(MonotonicClock.now() + Self.lookInterval)
                return
            }
            target = page.targetId
            send("Target.attachToTarget", ["targetId": .text(page.targetId), "flatten": .flag(true)], inPage: false) {
                [weak self] answer in
                guard let session = answer.result?.sessionId else {
                    self?.end("the browser refuses control of its page: \(answer.error?.message ?? "no session")")
                    return
                }
                self?.session = session
                self?.prepare()
            }
        }
    }

    private func prepare() {
        for domain in ["Page", "Inspector", "Network"] + (hearsConsole ? ["Runtime"] : []) { send("\(domain).enable") }
        send("Page.setLifecycleEventsEnabled", ["enabled": .flag(true)])
        send("Page.addScriptToEvaluateOnNewDocument", ["source": .text(Self.quiet)])
        if let film {
            send(
                "Emulation.setDeviceMetricsOverride",
                [
                    "width": .number(film.width), "height": .number(film.height), "deviceScaleFactor": .number(1),
                    "mobile": .flag(false),
                ])
            send("Emulation.setDefaultBackgroundColorOverride", ["color": .values(["r": 0, "g": 0, "b": 0, "a": 0])])
        }
        send("Browser.setDownloadBehavior", ["behavior": .text("deny")], inPage: false)
        send("Target.setDiscoverTargets", ["discover": .flag(true)], inPage: false) { [weak self] _ in
            self?.isReady = true
            self?.onEvent(.ready)
        }
    }

    // MARK: - Pictures

    private func startFilm() {
        guard film != nil else { return }
        send("Page.startScreencast", ["format": .text("png")]) { [weak self] answer in
            guard let self else { return }
            isFilming = answer.error == nil
            // A document that has painted nothing yet cannot be captured.
            if !isFilming { filmAt.set(MonotonicClock.now() + Self.filmInterval) }
        }
    }

    private func filmAgain() {
        if !isFilming || screencast.isQuiet(now: MonotonicClock.now()) { startFilm() }
    }

    private func take(picture: String, number: Int) {
        send("Page.screencastFrameAck", ["sessionId": .number(number)])
        filmAt.set(screencast.took(now: MonotonicClock.now()))
        guard let bytes = Data(base64Encoded: picture) else { return }
        onEvent(.picture([UInt8](bytes)))
    }

    // MARK: - Messages of the browser

    /// Handles bytes on the reading thread. Waits while the loop is busy, so that the browser has to wait, too.
    private func take(_ bytes: [UInt8]) {
        guard let message = BrowserMessage(bytes), message.id != nil || Self.matters(message) else { return }
        while toRead.load(ordering: .relaxed) >= Self.mostWaiting { usleep(2000) }
        toRead.add(1, ordering: .relaxed)
        loop.perform { [self] in
            toRead.subtract(1, ordering: .relaxed)
            take(message)
        }
    }

    private static func matters(_ message: BrowserMessage) -> Bool {
        switch message.method {
        case "Page.lifecycleEvent", "Page.frameNavigated", "Page.javascriptDialogOpening", "Inspector.targetCrashed",
            "Target.targetCreated", "Target.targetDestroyed", "Runtime.consoleAPICalled", "Page.screencastFrame":
            true
        case "Network.responseReceived": message.params?.type == "Document"
        default: false
        }
    }

    private func take(_ message: BrowserMessage) {
        guard !isOver else { return }
        if let id = message.id {
            if let then = answers.removeValue(forKey: id) { then(message) }
            return
        }
        let parameters = message.params
        switch message.method {
        case "Page.lifecycleEvent" where parameters?.frameId == target:
            switch parameters?.name {
            case "firstPaint", "firstContentfulPaint": onEvent(.painted)
            case "networkIdle": onEvent(.networkIsIdle)
            default: break
            }
        case "Page.frameNavigated":
            // The answer to a navigation says why its page is not there; that of an earlier one has been given.
            if !isNavigating, let frame = parameters?.frame, frame.parentId == nil, frame.unreachableUrl != nil {
                onEvent(.loadFailed("its server cannot be reached"))
            }
        case "Network.responseReceived" where parameters?.frameId == target:
            if let response = parameters?.response, let status = response.status, status >= 400 {
                let fault = response.headers?.proxyFault
                onEvent(.loadFailed(fault?.words ?? "its server answers with status \(status)"))
            }
        case "Page.javascriptDialogOpening": send("Page.handleJavaScriptDialog", ["accept": .flag(false)])
        case "Inspector.targetCrashed": onEvent(.crashed)
        case "Target.targetCreated":
            // Another window would cover the page.
            guard isReady, let other = parameters?.targetInfo, other.type == "page", other.targetId != target else {
                break
            }
            send("Target.closeTarget", ["targetId": .text(other.targetId)], inPage: false)
        case "Page.screencastFrame":
            if let picture = parameters?.data, let number = parameters?.sessionId?.value {
                take(picture: picture, number: number)
            }
        case "Runtime.consoleAPICalled":
            if parameters?.type == "log", let text = parameters?.args?.first?.text { onEvent(.wrote(text)) }
        default: break
        }
    }
}
