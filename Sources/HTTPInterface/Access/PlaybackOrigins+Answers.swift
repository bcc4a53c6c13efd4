import EventSubscription
import HTTPTypes
import Hummingbird
import RoomService

extension PlaybackOrigins {
    /// Answers a request so that pages of these origins can read the answer, including the reason for a refusal.
    ///
    /// - Parameter exposed: Names of headers that pages may read in addition to the safelisted ones (Fetch §3.2.5).
    func readable(
        _ request: Request, exposing exposed: String, _ handler: () async throws -> Response
    ) async throws -> Response {
        var headers = headers(origin: request.headers[.origin])
        if headers[.accessControlAllowOrigin] != nil { headers[.accessControlExposeHeaders] = exposed }
        var problem: HTTPProblem
        do {
            var response = try await handler()
            response.headers.append(contentsOf: headers)
            return response
        } catch let error as HTTPProblem {
            problem = error
        } catch let error as OrchestratorError {
            problem = HTTPProblem(error)
        } catch let error as InputError {
            problem = HTTPProblem(OrchestratorError(error))
        }
        problem.headers.append(contentsOf: headers)
        throw problem
    }
}
