import HTTPTypes
import HummingbirdCore
import NIOCore
import SocketIO

extension SocketIOServer {
    /// The route of its WebSockets.
    package var route: WebSocketRoute {
        var numbers = WebSocketServer.Numbers()
        numbers.all = settings.maxSessions
        numbers.perAddress = settings.maxSessionsPerAddress
        return WebSocketRoute(
            paths: [settings.path + "/", settings.path], limits: settings.sockets, numbers: numbers
        ) { [self] head, address in
            refusal(of: head, from: address)
        } serve: { [self] socket, head in
            await serve(socket, head)
        }
    }

    private static func values(of head: HTTPRequest) -> (String) -> String? {
        SocketIOController.values(of: URI(head.path ?? ""))
    }

    private func refusal(of head: HTTPRequest, from address: String) -> WebSocketRefusal? {
        do {
            let value = Self.values(of: head)
            let shown = try access.check(head, value, address: address, isUpgrade: true)
            let query = try EngineIOQuery(missingIsThree: settings.missingVersionIsThree, value)
            guard query.transport == .webSocket else { throw EngineIOError.badRequest }
            if let id = query.session { _ = try session(id, shown) }
            return nil
        } catch let error as EngineIOError {
            refused("\(error.rawValue)")
            return WebSocketRefusal(
                status: .init(code: error.status), headers: [.contentType: "application/json"],
                body: ByteBuffer(string: error.document))
        } catch let error as HTTPProblem {
            return WebSocketRefusal(error)
        } catch {
            return WebSocketRefusal(
                status: .badRequest, headers: [:], body: ByteBuffer(string: EngineIOError.badRequest.document))
        }
    }

    private func serve(_ socket: WebSocket, _ head: HTTPRequest) async {
        guard let (session, number) = await begin(socket, head) else { return }
        await socket.forEach { message in
            if let seconds = access.limits.requests.take(by: access.key(session.shown.caller, socket.address)) {
                socket.close(.refused("too many messages, try again in \(seconds) s: http.rate.requests"))
            } else {
                await session.receive(message, from: number)
            }
        }
        await session.closed(number)
    }

    /// Returns the connection that a WebSocket begins or takes over, and its number there.
    private func begin(_ socket: WebSocket, _ head: HTTPRequest) async -> (SocketIOSession, Int)? {
        do {
            let value = Self.values(of: head)
            let shown = try access.shown(head, value, address: socket.address)
            let query = try EngineIOQuery(missingIsThree: settings.missingVersionIsThree, value)
            if let id = query.session {
                let session = try session(id, shown)
                return (session, session.attach(socket))
            }
            let session = try open(query, shown, address: socket.address, socket: socket)
            await session.begin()
            return (session, SocketIOSession.firstSocket)
        } catch let error as HTTPProblem {
            socket.close(.refused(error.detail))
        } catch {
            // The session still existed when the handshake was answered.
            socket.close(.refused("the connection is gone"))
        }
        return nil
    }
}
