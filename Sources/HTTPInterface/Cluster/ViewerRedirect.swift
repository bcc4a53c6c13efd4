import HTTPTypes
import Hummingbird
import RoomService
import TaskStore
import TextFormats

/// Sends viewers over HTTP-FLV and HLS to the node that has the room, instead of passing its answers on.
///
/// A request is redirected once: the query of its new address says so, and the node that receives it serves it or passes it
/// on. A signature covers only the path of an address, so it holds for the new one.
package struct ViewerRedirect: Sendable {
    private let origins: PlaybackOrigins

    /// - Parameter origins: Origins of the pages that may play.
    package init(origins: PlaybackOrigins) {
        self.origins = origins
    }

    /// Name of the query parameter of addresses to which viewers were redirected.
    static let mark = "redirected"

    /// Returns the redirect to another node; `nil` if the request has to be passed on.
    func answer(to request: Request, at node: NodeProfile) -> Response? {
        guard let address = node.publicURL, request.method == .get || request.method == .head,
            let target = request.head.path, target.startsInUTF8(with: "/live/"),
            !target.utf8.contains(UInt8(ascii: "#")),
            request.uri.queryParameters[Self.mark[...]] == nil,
            // Nodes follow no redirects. One that does not know yet that this node was started again sends its earlier key.
            request.headers[NodeHeader.key] == nil, canFollow(request.headers)
        else { return nil }
        let separator = target.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        var headers = origins.headers(origin: request.headers[.origin])
        headers[.location] = "\(address)\(target)\(separator)\(Self.mark)=1"
        headers[.cacheControl] = "no-store"
        return Response(status: .temporaryRedirect, headers: headers)
    }

    /// Returns whether a redirect to another host works for the client.
    ///
    /// The service's own pages may connect only to their host (`WebPage`), and browsers name no origin for them. For a page of
    /// another host, the origin is `null` after a redirect (Fetch §4.4), which only `*` allows. A page in a sandboxed frame has
    /// the origin `null` from the start, and may be one of the service's own.
    private func canFollow(_ headers: HTTPFields) -> Bool {
        if let origin = headers[.origin] { return origins == .any && origin != "null" }
        // All browsers' names begin with this.
        return !(headers[.userAgent]?.startsInUTF8(with: "Mozilla/") ?? false)
    }
}
