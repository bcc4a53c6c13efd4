import HTTPTypes
import Hummingbird
import RoomService

/// `/assets/{file}`: scripts and styles of the pages, and the player that other sites embed.
package struct AssetController: Sendable {
    private let assets: [String: WebAsset]
    private let origins: PlaybackOrigins

    /// - Parameter origins: Other origins whose pages may load the files, because they may play programs.
    package init(_ assets: [WebAsset], origins: PlaybackOrigins) {
        self.assets = Dictionary(uniqueKeysWithValues: assets.map { ($0.name, $0) })
        self.origins = origins
    }

    package func addRoutes(to router: some RouterMethods<OrchestratorContext>) {
        router.get("assets/{file}") { [assets, origins] request, context in
            try Self.asset(of: request, context, in: assets).response(
                to: request, headers: origins.headers(origin: request.headers[.origin]))
        }
        router.on("assets/{file}", method: .options) { [assets, origins] request, context in
            _ = try Self.asset(of: request, context, in: assets)
            return Response(status: .noContent, headers: origins.preflight(origin: request.headers[.origin]))
        }
    }

    private static func asset(
        of request: Request, _ context: OrchestratorContext, in assets: [String: WebAsset]
    ) throws(OrchestratorError) -> WebAsset {
        guard let asset = assets[context.parameters.get("file") ?? ""] else {
            throw OrchestratorError(
                .notFound, "no-asset", "There is no such file",
                detail: "\(request.uri.path): this release serves no file of this name")
        }
        return asset
    }
}
