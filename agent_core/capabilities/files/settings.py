"""The settings of agents' files: the folder or bucket in which they are kept, and the bucket's key."""

from typing import ClassVar

from agent_core.capabilities.declaring import SettingsGroup, refuse_if, setting
from agent_core.capabilities.setting_types import Secret, WebAddress, WorkspaceAddress

NO_BUCKET = "needs WORKSPACE_URL beside it, the bucket: s3://bucket/prefix."


class FileSettings(SettingsGroup):
    """The folder or the bucket of the agents' files, and the bucket's key."""

    title: ClassVar[str] = "Files"

    workspace_url: WorkspaceAddress = setting(
        "",
        "The agents' files: a folder that several machines share, or a bucket of S3 or of a server with its API. "
        "A bucket requires the extra s3.",
        unset="the folder workspaces in the data folder",
        example="s3://my-bucket/signoff",
    )
    workspace_endpoint: WebAddress = setting(
        "",
        "The server of the bucket, if it is not Amazon's.",
        unset="AWS_ENDPOINT_URL_S3 of the environment, else Amazon's own",
        example="https://minio.example.com",
    )
    aws_access_key_id: str = setting(
        "",
        "The id of the bucket's key.",
        unset="the role of the machine, the container or the Kubernetes service account",
        example="your-key-id",
    )
    aws_secret_access_key: Secret = setting(
        "", "The secret of the bucket's key.", unset="as for AWS_ACCESS_KEY_ID", example="your-secret-key"
    )
    aws_session_token: Secret = setting("", "The token of a temporary key.", example="your-session-token")
    aws_region: str = setting(
        "",
        "The region of the bucket.",
        unset="AWS_DEFAULT_REGION of the environment, else us-east-1",
        example="eu-central-1",
    )

    def check(self) -> None:
        has_bucket = self.workspace_url.startswith("s3://")
        refuse_if(self.workspace_endpoint and not has_bucket, "workspace_endpoint", NO_BUCKET)
