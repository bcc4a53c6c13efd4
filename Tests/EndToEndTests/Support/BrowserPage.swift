import Foundation

/// A page in Chromium that a test uses as a person does, over the DevTools protocol on a pair of named pipes.
actor BrowserPage {
    private let process: ManagedProcess
    private let commands: Int32
    private let answers: Int32
    private var rest: [UInt8] = []
    private var number = 0
    private var waiting: [Int: [String: Any]] = [:]
    private var session: String?
    /// Complaints of the page: exceptions, violations of its content security policy, and errors that it logged.
    private(set) var complaints: [String] = []

    /// Opens a page.
    ///
    /// - Parameters:
    ///   - directory: Location of the browser's profile, pipes and messages.
    ///   - width: Width of the window in CSS pixels.
    ///   - options: Additional command-line options of Chromium.
    static func open(
        _ url: String, in directory: URL, width: Int = 1400, height: Int = 1000, options: [String] = []
    ) async throws -> BrowserPage {
        let page = try BrowserPage(directory, options)
        try await page.begin(url, width, height)
        // From then on, the page's elements are there.
        try await page.wait(for: "location.href !== 'about:blank' && document.readyState !== 'loading'")
        return page
    }

    private init(_ directory: URL, _ options: [String]) throws {
        guard let executable = Browser.executable else {
            throw EndToEndError("chromium is missing: run deploy/setup.sh")
        }
        let name = "page-\(UInt32.random(in: 0 ... .max))"
        let path = directory.appendingPathComponent(name).path
        var pipes: [Int32] = []
        for kind in ["commands", "answers"] {
            // Each pipe is opened for both directions, so that neither side waits for the other to open it.
            guard mkfifo("\(path).\(kind)", 0o600) == 0 else { throw EndToEndError("mkfifo: \(errno)") }
            pipes.append(Foundation.open("\(path).\(kind)", O_RDWR | O_NONBLOCK | O_CLOEXEC))
        }
        guard pipes.allSatisfy({ $0 >= 0 }) else { throw EndToEndError("open: \(errno)") }
        commands = pipes[0]
        answers = pipes[1]
        process = try ManagedProcess(
            name, "/bin/sh",
            [
                "-c", #"exec "$@" 3<"$0.commands" 4>"$0.answers""#, path, executable,
                // For the same reason as in `Browser`.
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--mute-audio",
                "--no-first-run", "--autoplay-policy=no-user-gesture-required", "--remote-debugging-pipe",
                "--user-data-dir=\(path).profile",
            ] + options + ["about:blank"], in: directory)
    }

    private func begin(_ url: String, _ width: Int, _ height: Int) async throws {
        let target = try await call("Target.createTarget", ["url": "about:blank"])
        let attached = try await call(
            "Target.attachToTarget", ["targetId": target["targetId"] as? String ?? "", "flatten": true])
        session = attached["sessionId"] as? String
        for domain in ["Page", "Runtime", "Log"] { _ = try await call("\(domain).enable") }
        _ = try await call(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
        _ = try await call("Page.addScriptToEvaluateOnNewDocument", ["source": Self.listener])
        _ = try await call("Page.navigate", ["url": url])
    }

    /// Records the page's announcements to screen readers, each of which replaces the previous one.
    private static let listener = """
        window.announced = [];
        new MutationObserver(() => {
          const text = document.getElementById("announcer")?.textContent;
          if (text && announced.at(-1) !== text) announced.push(text);
        }).observe(document, { subtree: true, childList: true, characterData: true });
        """

    /// Ends the browser.
    func close() async {
        await process.stop()
        Foundation.close(commands)
        Foundation.close(answers)
    }

    // MARK: What a person does

    /// Returns the value of an expression, which may be a promise.
    func evaluate<Value: Decodable & Sendable>(_ expression: String, as type: Value.Type = Value.self) async throws
        -> Value
    {
        let source = "(async () => JSON.stringify((await (\(expression))) ?? null))()"
        let answer = try await call(
            "Runtime.evaluate", ["expression": source, "awaitPromise": true, "returnByValue": true])
        if let failure = answer["exceptionDetails"] as? [String: Any] {
            let exception = failure["exception"] as? [String: Any]
            throw EndToEndError("\(expression): \(exception?["description"] ?? failure)")
        }
        let result = answer["result"] as? [String: Any]
        guard let json = result?["value"] as? String else { throw EndToEndError("\(expression): no value") }
        return try JSONDecoder().decode(Value.self, from: Data(json.utf8))
    }

    /// Waits until an expression is true.
    func wait(for expression: String, within seconds: Double = patience) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while try await !isTrue(expression) {
            guard ContinuousClock.now < deadline else {
                let shown = try? await evaluate("document.body.innerText.slice(0, 1000)", as: String.self)
                throw EndToEndError("\(expression): not within \(seconds) s \(complaints)\n\(shown ?? "")")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Returns whether an expression is true; false while another page is loading.
    private func isTrue(_ expression: String) async throws -> Bool {
        do {
            return try await evaluate("Boolean(\(expression))", as: Bool.self)
        } catch let error as EndToEndError {
            let signs = [
                "context was destroyed", "Cannot find context", "Cannot find default execution context", "navigated",
            ]
            guard signs.contains(where: { error.description.contains($0) }) else { throw error }
            return false
        }
    }

    /// Waits until the page has announced a text since it was opened.
    func hear(_ text: String) async throws { try await wait(for: "announced.includes(\(Self.quoted(text)))") }

    /// Waits until the whole page has loaded, its style sheets apply, and no part of it is still in transition.
    func waitUntilShown() async throws {
        try await wait(
            for: """
                document.readyState === "complete"
                  && [...document.querySelectorAll("link[rel=stylesheet]")].every(link => link.sheet)
                  && document.getAnimations().every(one => one.playState !== "running" || !isFinite(one.effect.getComputedTiming().endTime))
                """)
    }

    /// Returns the faults that `Tests/Console/accessibility.js` finds in the page, in light and in dark colours.
    func faults() async throws -> [String] {
        let script = try String(
            contentsOf: Workspace.root.appendingPathComponent("Tests/Console/accessibility.js"), encoding: .utf8)
        var faults: [String] = []
        for scheme in ["light", "dark"] {
            let feature = ["name": "prefers-color-scheme", "value": scheme]
            _ = try await call("Emulation.setEmulatedMedia", ["features": [feature]])
            try await waitUntilShown()
            faults += try await evaluate(script, as: [String].self).map { "\(scheme): \($0)" }
        }
        return faults
    }

    /// Clicks the button with this text, in an open dialog if there is one.
    func click(_ text: String) async throws {
        let button = """
            [...(document.querySelector("dialog[open]") ?? document).querySelectorAll("button:not(:disabled)")]
              .find(button => button.textContent.trim() === \(Self.quoted(text)))
            """
        try await wait(for: button)
        let _: Bool = try await evaluate("(\(button).click(), true)")
    }

    /// Clicks the button with this accessible name, once it is not busy.
    func press(_ label: String) async throws {
        let button = "document.querySelector('button[aria-label=\"\(label)\"]:not([aria-busy])')"
        try await wait(for: button)
        let _: Bool = try await evaluate("(\(button).click(), true)")
    }

    /// Clicks with the pointer in the middle of the element that an expression returns. Waits until the element is there,
    /// with nothing over it.
    func pointAndClick(_ element: String) async throws {
        let middle = "(box => [box.x + box.width / 2, box.y + box.height / 2])((\(element)).getBoundingClientRect())"
        try await wait(for: element)
        let _: Bool = try await evaluate("((\(element)).scrollIntoView({ block: 'nearest' }), true)")
        try await wait(for: "(\(element)).contains(document.elementFromPoint(...\(middle)))")
        let place: [Double] = try await evaluate(middle)
        try await mouse("mouseMoved", place[0], place[1], isHeld: false)
        try await mouse("mousePressed", place[0], place[1])
        try await mouse("mouseReleased", place[0], place[1])
    }

    /// Replaces the first occurrence of `old` in the control that `selector` finds.
    func type(_ text: String, inPlaceOf old: String, in selector: String) async throws {
        let found: Bool = try await evaluate(
            """
            (() => {
              const area = document.querySelector(\(Self.quoted(selector))), at = area.value.indexOf(\(Self.quoted(old)));
              area.focus();
              area.setSelectionRange(at, at + \(old.utf16.count));
              return at >= 0;
            })()
            """)
        guard found else { throw EndToEndError("\(old) is not in \(selector)") }
        _ = try await call("Input.insertText", ["text": text])
    }

    /// A key that moves the focus, or triggers what has it.
    enum Key: String {
        case tab = "Tab"
        case enter = "Enter"
    }

    /// Presses and releases a key.
    func strike(_ key: Key) async throws {
        let name = key.rawValue, code = key == .tab ? 9 : 13
        var event: [String: Any] = ["key": name, "code": name, "windowsVirtualKeyCode": code]
        event["type"] = "keyDown"
        // Without its text, the key triggers no button.
        if key == .enter { event["text"] = "\r" }
        _ = try await call("Input.dispatchKeyEvent", event)
        _ = try await call(
            "Input.dispatchKeyEvent", ["type": "keyUp", "key": name, "code": name, "windowsVirtualKeyCode": code])
    }

    /// Presses the pointer at a position, moves it in steps, and releases it. Positions are in CSS pixels.
    func drag(from start: (x: Double, y: Double), to end: (x: Double, y: Double)) async throws {
        try await mouse("mousePressed", start.x, start.y)
        for step in 1...8 {
            let share = Double(step) / 8
            try await mouse("mouseMoved", start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share)
        }
        try await mouse("mouseReleased", end.x, end.y)
    }

    /// - Parameter isHeld: Whether the button is involved; false for a movement without it.
    private func mouse(_ kind: String, _ x: Double, _ y: Double, isHeld: Bool = true) async throws {
        _ = try await call(
            "Input.dispatchMouseEvent",
            [
                "type": kind, "x": x, "y": y, "button": isHeld ? "left" : "none",
                "buttons": isHeld && kind != "mouseReleased" ? 1 : 0, "clickCount": isHeld ? 1 : 0,
            ])
    }

    /// Returns a text as a literal of JavaScript.
    static func quoted(_ text: String) -> String {
        (try? String(decoding: JSONEncoder().encode(text), as: UTF8.self)) ?? "\"\""
    }

    // MARK: The protocol

    private func call(_ method: String, _ parameters: [String: Any] = [:]) async throws -> [String: Any] {
        number += 1
        let identifier = number
        var message: [String: Any] = ["id": identifier, "method": method, "params": parameters]
        if let session { message["sessionId"] = session }
        var bytes = Array(try JSONSerialization.data(withJSONObject: message)) + [0]
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            if !bytes.isEmpty {
                let written = write(commands, bytes, bytes.count)
                bytes.removeFirst(max(0, written))
            }
            receive()
            if let answer = waiting.removeValue(forKey: identifier) {
                if let error = answer["error"] { throw EndToEndError("\(method): \(error)") }
                return answer["result"] as? [String: Any] ?? [:]
            }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw EndToEndError("\(method) is not answered\n\(process.messages())")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Reads the received messages, each of which ends with a zero byte.
    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(answers, &buffer, buffer.count)
            guard count > 0 else { break }
            rest += buffer[..<count]
        }
        while let end = rest.firstIndex(of: 0) {
            let message = try? JSONSerialization.jsonObject(with: Data(rest[..<end])) as? [String: Any]
            rest.removeSubrange(...end)
            guard let message else { continue }
            if let identifier = message["id"] as? Int { waiting[identifier] = message } else { note(message) }
        }
    }

    private func note(_ event: [String: Any]) {
        let parameters = event["params"] as? [String: Any] ?? [:]
        switch event["method"] as? String ?? "" {
        case "Runtime.exceptionThrown":
            complaints.append("\(parameters["exceptionDetails"] ?? "")")
        case "Log.entryAdded":
            let entry = parameters["entry"] as? [String: Any]
            let text = entry?["text"] as? String ?? ""
            // Chromium reports every refused request, which the page shows itself.
            if entry?["level"] as? String == "error", !text.hasPrefix("Failed to load resource") {
                complaints.append(text)
            }
        case "Runtime.consoleAPICalled" where parameters["type"] as? String == "error":
            complaints.append("\(parameters["args"] ?? "")")
        default: break
        }
    }
}
