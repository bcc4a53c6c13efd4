import EncodedMedia
import EventSubscription
import MixModel
import RoomService

/// The owner of one client's `WCSSession`: performs its actions.
actor WCSConnection {
    /// Identifier of the connection for the app's server.
    nonisolated let name: String
    /// Wall clock time of its beginning, in seconds since 1970.
    nonisolated let begun = wallClock()
    private let server: WCSServer
    private let socket: WebSocket
    private let client: WebRTCClient
    private let onChange: AsyncStream<Change>.Continuation
    private let onSaying: AsyncStream<Saying>.Continuation
    private let lane: WCSHookLane?
    private var hooks: (body: WCSHookBody, rules: WCSHookRules)
    private var session = WCSSession()
    private var admission = WCSServer.Admission()
    private var isIn = false
    private var opened: [String: Opened] = [:]
    /// Attempts about which the app's server is asked.
    private var asked: [String: Int] = [:]
    private var number = 0
    private var turns = WCSTurns(now: MonotonicClock.now())

    init(
        _ server: WCSServer, _ socket: WebSocket, from client: WebRTCClient, name: String, lane: WCSHookLane?,
        onChange: AsyncStream<Change>.Continuation, onSaying: AsyncStream<Saying>.Continuation
    ) {
        self.server = server
        self.socket = socket
        self.client = client
        self.name = name
        self.lane = lane
        self.onChange = onChange
        self.onSaying = onSaying
        hooks = (WCSHookBody(node: server.hooks?.node ?? "", session: name), WCSHookRules())
    }

    /// Handles a message, and returns the work that is to be performed concurrently with the reading of messages.
    func receive(_ message: WebSocketMessage) -> [Work] {
        // Binary messages are sent by clients that play over them.
        guard case .text(let text) = message else { return [] }
        return perform(session.received(text))
    }

    func tick() { _ = perform(session.tick()) }

    func take(_ change: Change) async {
        guard let stream = opened[change.id], stream.number == change.number else { return }
        switch change.what {
        case .lost: _ = perform(session.lost(change.id))
        case .news(let news):
            guard stream.session != nil else {
                // The connection and its end.
                if stream.early.count < 2 { opened[change.id]?.early.append(news) }
                return
            }
            await take(news, change.id, stream)
        }
    }

    private func take(_ news: WebRTCNews, _ id: String, _ stream: Opened) async {
        switch news {
        case .connected:
            let actions = session.connected(id)
            if stream.isPublished, let status = session.streams[id]?.status {
                server.note(stream.target, id, status: status)
            }
            _ = perform(actions)
        case .ended(let reason, let cause):
            var info = Self.info(cause)
            if !stream.isPublished, await !server.isThere(stream.target) { info = WCSInfo.stoppedByPublisher }
            // The client may have ended it meanwhile, and begun another one.
            guard opened[id]?.number == stream.number else { return }
            forget(id)
            server.logger.info("WCS: a stream has ended: \(reason)", metadata: ["room": "\(stream.target.room)"])
            _ = perform(session.failed(id, info))
        }
    }

    func take(_ saying: Saying) { _ = perform(session.publisherSent(saying.id, saying.type, saying.payload)) }

    func terminate(_ id: String) { _ = perform(session.terminated(id)) }

    /// The connection from the point of view of the app's server; `nil` before it is admitted.
    var entry: (app: AppID, fields: [String: JSONValue])? {
        guard isIn else { return nil }
        var fields = hooks.body.connection("ESTABLISHED")
        fields["authToken"] = nil
        fields["createDate"] = .number((begun * 1000).rounded())
        return (admission.app, fields)
    }

    /// Closes the connection at the request of the app's server.
    nonisolated func terminate() { socket.close(.normal("ended by the app's server")) }

    /// Ends everything that the client has begun.
    func end() {
        for id in opened.keys.sorted() { close(id) }
        asked = [:]
        if isIn { note(.connectionStatus, hooks.body.connection("DISCONNECTED")) }
        isIn = false
    }

    // MARK: Actions

    private func perform(_ actions: [WCSSession.Action]) -> [Work] { actions.flatMap { perform($0) } }

    private func perform(_ action: WCSSession.Action) -> [Work] {
        switch action {
        case .send(let message): send(message)
        case .close(let close): socket.close(close)
        case .admit(let connect): return admit(connect)
        case .begin(let wish): return ask(wish)
        case .end(let id): close(id)
        case .look(let id, let name):
            guard let target = server.target(name, app: admission.app) else {
                return perform(session.looked(id, isThere: false))
            }
            return [.look(id: id, target)]
        case .mute(let id, let audio, let video):
            guard let stream = opened[id], case .participant(let names) = stream.target else { break }
            if let audio { opened[id]?.untold.audio = audio }
            if let video { opened[id]?.untold.video = video }
            guard !stream.isTelling else { break }
            opened[id]?.isTelling = true
            return [.mute(id: id, number: stream.number, names)]
        case .tell(let id, let type, let payload):
            if let target = opened[id]?.target { server.tell(target, type, payload) }
        }
        return []
    }

    private func send(_ message: WCSMessage) {
        socket.send(message.text)
        guard lane != nil, message.name == WCSMessage.statusName else { return }
        note(.streamStatus, hooks.body.status(message.fields))
        if let id = message.fields.text("mediaSessionId"), session.streams[id] == nil { hooks.body.forget(id) }
    }

    private func note(_ method: WCSHookMethod, _ fields: [String: JSONValue]) {
        if hooks.rules.isSent(method) { lane?.put(method, hooks.rules.fields(method, fields)) }
    }

    // MARK: Letting in

    private func admit(_ connect: WCSConnect) -> [Work] {
        guard let admission = server.admit(connect, from: socket.address) else {
            let reason =
                server.checksTokens
                ? "a token with the scope publish or read is required"
                : "too many clients of this address were refused, try again in a moment: http.rate.failures"
            server.logger.info("WCS: a client is refused: \(reason)", metadata: ["address": "\(socket.address)"])
            return perform(session.denied(reason))
        }
        self.admission = admission
        let fields = hooks.body.connect(connect.fields, hidesToken: server.checksTokens)
        guard let lane else { return admitted() }
        return lane.put(.connect, fields, .connect) ? [] : perform(session.denied("the app's server cannot be asked"))
    }

    private func admitted() -> [Work] {
        isIn = true
        note(.connectionStatus, hooks.body.connection("ESTABLISHED"))
        return perform(session.admitted())
    }

    /// Asks the app's server about a stream, if its settings require it.
    private func ask(_ wish: WCSSession.Wish) -> [Work] {
        guard admission.mayPublish || !wish.isPublished else {
            return perform(session.failed(wish.id, WCSInfo.restricted))
        }
        guard let lane, let stream = session.streams[wish.id] else { return begin(wish) }
        let fields = hooks.body.begin(wish.id, stream, wish.fields, offer: wish.offer, at: wallClock())
        let method: WCSHookMethod = wish.isPublished ? .publishStream : .playStream
        guard hooks.rules.isSent(method) else { return begin(wish) }
        number += 1
        asked[wish.id] = number
        let question = WCSHookLane.Question.begin(wish, number: number)
        if lane.put(method, hooks.rules.fields(method, fields), question) { return [] }
        return decided(question, .failed(words: "was not asked: too many calls are waiting"))
    }

    /// Handles the answer of the app's server.
    func decided(_ question: WCSHookLane.Question, _ verdict: WCSHookVerdict) -> [Work] {
        switch question {
        case .connect:
            switch verdict {
            case .allowed(let answer):
                hooks.rules = WCSHookRules(answer)
                return admitted()
            case .denied(let reason):
                server.countRefusal(from: socket.address)
                return perform(session.denied(reason ?? "the app's server does not let this client in"))
            case .failed: return perform(session.denied("the app's server cannot be asked"))
            }
        case .begin(var wish, let number):
            // The client may have ended it meanwhile.
            guard asked[wish.id] == number else { return [] }
            asked[wish.id] = nil
            let method: WCSHookMethod = wish.isPublished ? .publishStream : .playStream
            switch verdict {
            case .denied(let reason): return perform(session.failed(wish.id, reason ?? WCSInfo.restricted))
            case .failed where hooks.rules.failsOnError(method):
                return perform(session.failed(wish.id, WCSInfo.restricted))
            case .failed: break
            case .allowed(let answer):
                if hooks.rules.renames(method), let name = answer.text("name") { wish.name = name }
            }
            return begin(wish)
        }
    }

    // MARK: Streams

    private func begin(_ wish: WCSSession.Wish) -> [Work] {
        guard let stream = session.streams[wish.id] else { return [] }
        let id = wish.id
        number += 1
        if wish.isPublished {
            switch server.names(wish.name, app: admission.app) {
            case .success(let names):
                guard server.enter(names, id, stream, self) else {
                    return perform(session.failed(id, WCSInfo.nameInUse))
                }
                opened[id] = Opened(target: .participant(names), isPublished: true, number: number)
                return [.publish(id: id, number: number, names, offer: wish.offer)]
            case .failure(let reason):
                server.logger.info(
                    "WCS: a stream is refused: \(reason.text)", metadata: ["address": "\(socket.address)"])
                return perform(session.failed(id, WCSInfo.restricted))
            }
        }
        guard let target = server.target(wish.name, app: admission.app) else {
            return perform(session.failed(id, WCSInfo.streamNotFound))
        }
        opened[id] = Opened(target: target, isPublished: false, number: number)
        return [.play(id: id, number: number, target, offer: wish.offer)]
    }

    /// Performs slow work, and handles the outcome.
    func perform(_ work: Work) async {
        switch work {
        case .publish(let id, let number, let names, let offer):
            await open(id, number) { [server, client] onChange async throws(OrchestratorError) in
                try await server.door.open(names, offer: offer, from: client, onChange: onChange)
            }
        case .play(let id, let number, let target, let offer): await play(id, number, target, offer)
        case .look(let id, let target):
            let isThere = await server.isThere(target)
            _ = perform(session.looked(id, isThere: isThere))
        case .mute(let id, let number, let names): await mute(id, number, names)
        }
    }

    /// Tells the room what the client turns on and off, one change after another. The stream is in the room only some
    /// time after `PUBLISHING`.
    private func mute(_ id: String, _ number: Int, _ names: StreamNames) async {
        while opened[id]?.number == number {
            let isThere = await server.isThere(.participant(names))
            guard let stream = opened[id], stream.number == number else { return }
            guard isThere else {
                guard (try? await Task.sleep(for: .milliseconds(250))) != nil else { return }
                continue
            }
            guard stream.untold != Switches() else {
                opened[id]?.isTelling = false
                return
            }
            opened[id]?.untold = Switches()
            await server.mute(names, audio: stream.untold.audio, video: stream.untold.video)
        }
    }

    private func play(_ id: String, _ number: Int, _ target: WebRTCPlayTarget, _ offer: String) async {
        guard opened[id]?.number == number else { return }
        server.audience.enter(
            WCSAudience.Player(id: id, number: number, onChange: onChange, onSaying: onSaying), target, of: self)
        guard await server.isThere(target) else { return fail(id, number, WCSInfo.streamNotFound) }
        await open(id, number) { [server, client] onChange async throws(OrchestratorError) in
            try await server.playDoor.play(target, offer: offer, from: client, onChange: onChange)
        }
    }

    private func open(
        _ id: String, _ number: Int,
        _ door: (@escaping @Sendable (WebRTCNews) -> Void) async throws(OrchestratorError) -> WebRTCDoorSession
    ) async {
        guard await WCSTurns.wait(while: { await self.wants(id, number) }, until: { await self.takeTurn() }) else {
            return fail(id, number, WCSInfo.restricted)
        }
        guard let stream = opened[id], stream.number == number else { return }
        do throws(OrchestratorError) {
            let answer = try await door { [onChange] news in
                onChange.yield(Change(id: id, number: number, what: .news(news)))
            }
            guard opened[id]?.number == number else {
                // The client has gone meanwhile.
                return server.close(answer.id, stream.target, isPublished: stream.isPublished)
            }
            opened[id]?.session = answer.id
            _ = perform(session.answered(id, answer.answer))
            for news in opened[id]?.early ?? [] { await take(Change(id: id, number: number, what: .news(news))) }
        } catch {
            guard opened[id]?.number == number else { return }
            forget(id)
            server.logger.info(
                "WCS: a client is refused: \(error.title): \(error.detail)", metadata: ["room": "\(stream.target.room)"]
            )
            _ = perform(session.failed(id, Self.info(error, isPublished: stream.isPublished)))
        }
    }

    private func takeTurn() -> Bool {
        var next = turns
        guard next.take(now: MonotonicClock.now()), server.takesTurn(admission, at: socket.address) else {
            return false
        }
        turns = next
        return true
    }

    /// Returns whether the client has not ended this attempt to begin a stream.
    private func wants(_ id: String, _ number: Int) -> Bool { opened[id]?.number == number }

    private func fail(_ id: String, _ number: Int, _ info: String) {
        guard wants(id, number) else { return }
        forget(id)
        _ = perform(session.failed(id, info))
    }

    private func close(_ id: String) {
        asked[id] = nil
        guard let stream = forget(id), let session = stream.session else { return }
        server.close(session, stream.target, isPublished: stream.isPublished)
    }

    @discardableResult private func forget(_ id: String) -> Opened? {
        guard let stream = opened.removeValue(forKey: id) else { return nil }
        if stream.isPublished {
            server.leave(stream.target, id)
        } else {
            server.audience.leave(id, stream.target, of: self)
        }
        return stream
    }
}
